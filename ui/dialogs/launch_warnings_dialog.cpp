// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/dialogs/launch_warnings_dialog.h"

#include "ui/models/format.h"
#include "ui/widgets/form.h"
#include "ui/widgets/icons.h"

#include <QHBoxLayout>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

#include <algorithm>

namespace lockstep::ui {

namespace {

constexpr int kWidth = 600;
constexpr int kMargin = 24;
constexpr int kMostHeight = 420; ///< of the list; more scrolls

QWidget* makeWarning(const Problem& warning) {
    auto* box = new QWidget;
    auto* column = new QVBoxLayout(box);
    column->setContentsMargins(0, 0, 12, 0);
    column->setSpacing(2);
    const auto add = [column](const std::string& text, const char* kind) {
        auto* label = makeLabel(plainText(QString::fromStdString(text), 2000), kind);
        label->setWordWrap(true);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
        column->addWidget(label);
    };
    add(warning.message, nullptr);
    if (!warning.hint.empty())
        add(warning.hint, "muted");
    return box;
}

} // namespace

LaunchWarningsDialog::LaunchWarningsDialog(const Problems& warnings, QWidget* parent)
    : QDialog(parent) {
    setWindowTitle(tr("Warnings before the launch"));
    setMinimumWidth(kWidth);
    auto* head = makeLabel(warnings.size() == 1
                               ? tr("The check of the hosts has a warning")
                               : tr("The check of the hosts has %1 warnings").arg(warnings.size()),
                           "title");
    head->setFont(scaled(font(), 1.15, QFont::DemiBold));
    auto* top = new QHBoxLayout;
    top->setSpacing(12);
    top->addWidget(new IconView("warning", Ink::Warning, 28), 0, Qt::AlignTop);
    top->addWidget(head, 1);

    auto* list = new QWidget;
    auto* rows = new QVBoxLayout(list);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(12);
    for (const Problem& warning : warnings)
        rows->addWidget(makeWarning(warning));
    rows->addStretch(1);
    auto* scroll = new QScrollArea;
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setWidgetResizable(true);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setWidget(list);
    scroll->setAccessibleName(tr("Warnings"));

    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(kMargin, 20, kMargin, 20);
    column->setSpacing(12);
    column->addLayout(top);
    column->addWidget(scroll, 1);
    auto* note = makeLabel(tr("Nothing was sent to the hosts but the worker program."), "muted");
    column->addWidget(note);
    auto* buttons = new QHBoxLayout;
    buttons->addStretch(1);
    auto* leave = new QPushButton(tr("Do not launch"));
    auto* launch = new QPushButton(tr("Launch all the same"));
    leave->setDefault(true);
    connect(leave, &QPushButton::clicked, this, &QDialog::reject);
    connect(launch, &QPushButton::clicked, this, &QDialog::accept);
    buttons->addWidget(leave);
    buttons->addWidget(launch);
    column->addLayout(buttons);
    // Its hint is that of narrow words: as high as they are at this width, up to a limit.
    scroll->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Ignored);
    scroll->setMinimumHeight(std::min(rows->heightForWidth(kWidth - 2 * kMargin), kMostHeight));
}

} // namespace lockstep::ui
