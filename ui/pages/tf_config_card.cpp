// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/pages/tf_config_card.h"

#include "ui/widgets/code_view.h"

#include <QBoxLayout>
#include <QClipboard>
#include <QGuiApplication>
#include <QToolButton>

namespace lockstep::ui {
namespace {

/// For reading: an address a line, so that nothing is cut in a narrow card.
void unfold(const json::Value& value, const QString& indent, QString& out) {
    const bool isArray = value.isArray();
    const QString flat = QString::fromStdString(json::dump(value));
    if (!(isArray || value.isObject()) || value.size() == 0 || (!isArray && value.find("type"))) {
        out += flat;
        return;
    }
    const QString inner = indent + QStringLiteral("  ");
    out += isArray ? QLatin1Char('[') : QLatin1Char('{');
    for (std::size_t i = 0; i < value.size(); ++i) {
        out += (i ? QStringLiteral(",\n") : QStringLiteral("\n")) + inner;
        if (isArray) {
            unfold(value.items()[i], inner, out);
        } else {
            out += QString::fromStdString(json::dump(json::Value(value.members()[i].key))) +
                   QStringLiteral(": ");
            unfold(value.members()[i].value, inner, out);
        }
    }
    out += QLatin1Char('\n') + indent + (isArray ? QLatin1Char(']') : QLatin1Char('}'));
}

} // namespace

TfConfigCard::TfConfigCard(Workspace* workspace, QWidget* parent)
    : QWidget(parent)
    , m_workspace(workspace)
    , m_card(new Card(tr("TF_CONFIG")))
    , m_view(new CodeView(tr("TF_CONFIG of the selected task")))
    , m_task(makeLabel({}, "muted"))
    , m_copy(makeIconButton("copy", tr("Copy TF_CONFIG as it is sent"))) {
    m_card->header()->insertWidget(1, m_task);
    m_card->header()->addWidget(m_copy);
    m_card->body()->addWidget(m_view, 1);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(m_card);
    connect(m_copy, &QToolButton::clicked, this, [this] {
        QGuiApplication::clipboard()->setText(m_bytes);
        Q_EMIT noticed(tr("Copied the TF_CONFIG of %1.").arg(m_task->text()));
    });
}

void TfConfigCard::setRow(int row) {
    const auto workers = m_workspace->cluster().workers();
    const bool there = row >= 0 && row < static_cast<int>(workers.size());
    m_copy->setEnabled(there);
    if (!there) {
        m_task->clear();
        m_view->showText({});
        m_bytes.clear();
        return;
    }
    const auto task = workers[static_cast<std::size_t>(row)].task;
    m_task->setText(QString::fromStdString(task.text()));
    const auto config = cluster::tfConfigFor(m_workspace->cluster(), task);
    if (!config.ok()) {
        m_view->showText(QString::fromStdString(describe(config.error())));
        m_copy->setEnabled(false);
        return;
    }
    m_bytes = QString::fromStdString(config->dump());
    QString text;
    unfold(config->document(), {}, text);
    m_view->showText(text);
}

} // namespace lockstep::ui
