// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/models/check_models.h"

#include "ui/models/format.h"

#include <algorithm>

namespace lockstep::ui {
namespace {

QString nameOf(CheckPair::State state) {
    switch (state) {
    case CheckPair::State::Waiting:
        return CheckPairsModel::tr("not tried yet");
    case CheckPair::State::Working:
        return CheckPairsModel::tr("being tried");
    case CheckPair::State::Good:
        return CheckPairsModel::tr("good");
    case CheckPair::State::Warning:
        return CheckPairsModel::tr("reached, with a warning");
    case CheckPair::State::Refused:
        return CheckPairsModel::tr("refused");
    case CheckPair::State::Dropped:
        return CheckPairsModel::tr("silently dropped");
    case CheckPair::State::WrongAnswer:
        return CheckPairsModel::tr("another program answered");
    case CheckPair::State::NameUnknown:
        return CheckPairsModel::tr("name unknown there");
    case CheckPair::State::Skipped:
        return CheckPairsModel::tr("not tried: a host is out of reach");
    case CheckPair::State::Self:
        break;
    }
    return {};
}

} // namespace

int CheckView::count(FindingKind kind) const {
    return static_cast<int>(
        std::count_if(findings.begin(), findings.end(),
                      [kind](const CheckFinding& each) { return each.kind == kind; }));
}

QString pairWords(const CheckPair& pair) {
    QStringList words = {nameOf(pair.state)};
    if (pair.roundTripSeconds > 0)
        words.append(formatMilliseconds(pair.roundTripSeconds * 1000));
    if (pair.bytesPerSecond > 0)
        words.append(CheckPairsModel::tr("%1/s").arg(formatBytes(pair.bytesPerSecond)));
    return words.join(QStringLiteral(", "));
}

int CheckHostsModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_hosts.size());
}

int CheckHostsModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : FirstFact + static_cast<int>(m_facts.size());
}

HostFact CheckHostsModel::fact(int row, int column) const {
    const QString& name = m_facts[column - FirstFact];
    for (const HostFact& each : m_hosts[row].facts)
        if (each.name == name)
            return each;
    return {};
}

bool CheckHostsModel::differs(int row, int column) const {
    const HostFact own = fact(row, column);
    if (own.value.isEmpty() || own.isAmount)
        return false;
    int same = 0;
    int others = 0;
    for (int other = 0; other < rowCount(); ++other) {
        const QString value = fact(other, column).value;
        same += value == own.value ? 1 : 0;
        others += !value.isEmpty() && value != own.value ? 1 : 0;
    }
    return others > 0 && same <= others;
}

QVariant CheckHostsModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const CheckHost& host = m_hosts[index.row()];
    const int column = index.column();
    if (role == StateRole)
        return static_cast<int>(host.state);
    if (role == DiffersRole)
        return column >= FirstFact && differs(index.row(), column);
    if (role != Qt::DisplayRole && role != Qt::ToolTipRole && role != Qt::AccessibleTextRole)
        return {};
    if (column == Task)
        return plainText(host.task, 60);
    if (column == Host)
        return plainText(host.name, 200);
    if (column == State)
        return plainText(host.words, 300);
    const QString value = plainText(fact(index.row(), column).value, 200);
    return role != Qt::DisplayRole && differs(index.row(), column)
               ? tr("%1: differs from most hosts").arg(value)
               : value;
}

QVariant CheckHostsModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole)
        return QAbstractTableModel::headerData(section, orientation, role);
    return section == Task    ? tr("Task")
           : section == Host  ? tr("Host")
           : section == State ? tr("State")
                              : m_facts.value(section - FirstFact);
}

void CheckHostsModel::setView(const CheckView& view) {
    QStringList facts;
    for (const CheckHost& host : view.hosts)
        for (const HostFact& each : host.facts)
            if (!facts.contains(each.name))
                facts.append(each.name);
    if (facts != m_facts || view.hosts.size() != m_hosts.size()) {
        beginResetModel();
        m_facts = facts;
        m_hosts = view.hosts;
        endResetModel();
    } else if (m_hosts != view.hosts && !m_hosts.isEmpty()) {
        m_hosts = view.hosts;
        Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
    }
}

int CheckPairsModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_view.hosts.size());
}

int CheckPairsModel::columnCount(const QModelIndex& parent) const {
    return rowCount(parent);
}

QVariant CheckPairsModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const CheckPair& pair = m_view.pair(index.row(), index.column());
    if (role == StateRole)
        return static_cast<int>(pair.state);
    if (role != Qt::ToolTipRole && role != Qt::AccessibleTextRole)
        return {};
    const QString from = plainText(m_view.hosts[index.row()].task, 60);
    if (pair.state == CheckPair::State::Self)
        return tr("%1 itself").arg(from);
    const QString head =
        tr("%1 → %2: %3")
            .arg(from, plainText(m_view.hosts[index.column()].task, 60), pairWords(pair));
    return pair.words.isEmpty() ? head : head + QStringLiteral(". ") + plainText(pair.words, 500);
}

QVariant CheckPairsModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (section < 0 || section >= rowCount())
        return {};
    const CheckHost& host = m_view.hosts[section];
    if (role == Qt::ToolTipRole || role == Qt::AccessibleTextRole)
        return tr("%1 on %2").arg(plainText(host.task, 60), plainText(host.name, 100));
    if (role != Qt::DisplayRole)
        return {};
    // Columns have no room for names at 32 hosts: they carry the place, rows both.
    return orientation == Qt::Horizontal
               ? QString::number(section)
               : QStringLiteral("%1  %2").arg(section).arg(plainText(host.task, 20));
}

void CheckPairsModel::setView(const CheckView& view) {
    if (view.hosts.size() != m_view.hosts.size()) {
        beginResetModel();
        m_view = view;
        endResetModel();
        return;
    }
    const bool same = m_view.pairs == view.pairs;
    m_view = view;
    if (!same && rowCount() > 0)
        Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, rowCount() - 1));
}

int CheckFindingsModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_findings.size());
}

QVariant CheckFindingsModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const CheckFinding& finding = m_findings[index.row()];
    const QString subject = plainText(finding.subject, 120);
    const QString what = plainText(finding.what, 600);
    const QString todo = plainText(finding.todo, 600);
    switch (role) {
    case KindRole:
        return static_cast<int>(finding.kind);
    case SubjectRole:
        return subject;
    case Qt::DisplayRole:
    case WhatRole:
        return what;
    case TodoRole:
        return todo;
    case Qt::AccessibleTextRole:
    case Qt::ToolTipRole: {
        const QString kind = finding.kind == FindingKind::Error     ? tr("Error")
                             : finding.kind == FindingKind::Warning ? tr("Warning")
                                                                    : tr("Fact");
        QStringList parts = {subject.isEmpty() ? kind : kind + QStringLiteral(", ") + subject,
                             what};
        if (!todo.isEmpty())
            parts.append(todo);
        return parts.join(QLatin1Char('\n'));
    }
    default:
        return {};
    }
}

void CheckFindingsModel::setView(const CheckView& view) {
    if (m_findings == view.findings)
        return;
    beginResetModel();
    m_findings = view.findings;
    endResetModel();
}

} // namespace lockstep::ui
