// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/dialogs/host_key_stop.h"

#include "ui/models/format.h"
#include "ui/widgets/form.h"
#include "ui/widgets/icons.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

namespace lockstep::ui {

QString removalCommandIn(const QString& message) {
    const qsizetype at = message.indexOf(QStringLiteral("ssh-keygen -f "));
    return at < 0 ? QString() : message.mid(at).trimmed();
}

HostKeyStop::HostKeyStop(const Error& error, QWidget* parent)
    : QDialog(parent) {
    setWindowTitle(tr("The host key is not the known one"));
    setMinimumWidth(560);
    QString message = plainText(QString::fromStdString(error.message));
    const QString command = removalCommandIn(message);
    if (!command.isEmpty())
        message = message.left(message.size() - command.size()).trimmed();

    auto* head = makeLabel(tr("Stopped: the host key is not the known one"), "title");
    head->setFont(scaled(font(), 1.15, QFont::DemiBold));
    head->setWordWrap(true);
    auto* top = new QHBoxLayout;
    top->setSpacing(12);
    top->addWidget(new IconView("error", Ink::Error, 28), 0, Qt::AlignTop);
    auto* words = new QVBoxLayout;
    words->setSpacing(4);
    words->addWidget(head);
    auto* who = makeLabel(plainText(QString::fromStdString(error.where), 300));
    who->setFont(scaled(monospace(font()), 1, QFont::DemiBold));
    who->setWordWrap(true);
    words->addWidget(who);
    top->addLayout(words, 1);

    auto* text = makeLabel(message);
    text->setWordWrap(true);
    text->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    text->setAccessibleName(tr("What happened"));

    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(24, 20, 24, 20);
    column->setSpacing(12);
    column->addLayout(top);
    column->addWidget(text);
    if (!command.isEmpty()) {
        auto* line = new QLineEdit(command);
        line->setReadOnly(true);
        line->setFont(monospace(font()));
        line->setCursorPosition(0);
        line->setAccessibleName(tr("Command that removes the old line"));
        auto* copy = makeIconButton("copy", tr("Copy the command"));
        connect(copy, &QToolButton::clicked, this,
                [command] { QGuiApplication::clipboard()->setText(command); });
        auto* row = new QHBoxLayout;
        row->setSpacing(4);
        row->addWidget(line, 1);
        row->addWidget(copy);
        column->addLayout(row);
    }
    column->addStretch(1);
    auto* buttons = new QHBoxLayout;
    buttons->addStretch(1);
    auto* close = new QPushButton(tr("Close"));
    close->setDefault(true);
    connect(close, &QPushButton::clicked, this, &QDialog::reject);
    buttons->addWidget(close);
    column->addLayout(buttons);
}

} // namespace lockstep::ui
