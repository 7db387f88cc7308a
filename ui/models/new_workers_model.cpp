// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/models/new_workers_model.h"

#include "core/cluster/address.h"
#include "ui/models/format.h"

#include <algorithm>
#include <set>

namespace lockstep::ui {
namespace {

constexpr int kFirstPort = 2222;
constexpr int kLastPort = 65535;

} // namespace

NewWorkersModel::NewWorkersModel(const cluster::ClusterSpec& spec, QObject* parent)
    : QAbstractTableModel(parent)
    , m_spec(spec) {}

int NewWorkersModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int NewWorkersModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant NewWorkersModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const Row& row = m_rows[index.row()];
    if (role != Qt::DisplayRole && role != Qt::EditRole && role != Qt::ToolTipRole &&
        role != Qt::AccessibleTextRole)
        return {};
    switch (index.column()) {
    case RunsOn:
        return plainText(QString::fromStdString(row.worker.sshText()), 200);
    case Address:
        return QString::fromStdString(row.worker.address);
    case Problem:
        return problemOf(row);
    default:
        return {};
    }
}

bool NewWorkersModel::setData(const QModelIndex& index, const QVariant& value, int role) {
    if (role != Qt::EditRole || !checkIndex(index, CheckIndexOption::IndexIsValid) ||
        index.column() != Address)
        return false;
    Row& row = m_rows[index.row()];
    row.worker.address = value.toString().trimmed().toStdString();
    row.isEdited = true;
    Q_EMIT dataChanged(this->index(0, 0), this->index(rowCount() - 1, ColumnCount - 1));
    return true;
}

Qt::ItemFlags NewWorkersModel::flags(const QModelIndex& index) const {
    Qt::ItemFlags flags = QAbstractTableModel::flags(index);
    if (index.isValid() && index.column() == Address)
        flags |= Qt::ItemIsEditable;
    return flags;
}

QVariant NewWorkersModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole)
        return QAbstractTableModel::headerData(section, orientation, role);
    return section == RunsOn    ? tr("Runs on")
           : section == Address ? tr("Address for the other workers")
                                : tr("Problem");
}

std::string NewWorkersModel::freeAddress(const std::string& host) const {
    cluster::Address address;
    address.host = host;
    std::set<int> used;
    const auto note = [&](const cluster::Worker& worker) {
        if (const auto other = cluster::Address::parse(worker.address);
            other.ok() && other->hostKey() == address.hostKey())
            used.insert(other->port);
    };
    for (const auto& worker : m_spec.workers())
        note(worker);
    for (const Row& row : m_rows)
        note(row.worker);
    address.port = kFirstPort;
    while (used.contains(address.port) && address.port < kLastPort)
        ++address.port;
    return address.text();
}

QString NewWorkersModel::problemOf(const Row& row) const {
    const auto address = cluster::Address::parse(row.worker.address);
    if (!address.ok())
        return plainText(QString::fromStdString(address.error().message), 300);
    const auto clashes = [&](const cluster::Worker& worker) {
        const auto other = cluster::Address::parse(worker.address);
        return other.ok() && other->hostKey() == address->hostKey() && other->port == address->port;
    };
    for (const auto& worker : m_spec.workers())
        if (clashes(worker))
            return tr("%1 has this address already.")
                .arg(QString::fromStdString(worker.displayName()));
    const auto same = std::count_if(m_rows.begin(), m_rows.end(),
                                    [&](const Row& each) { return clashes(each.worker); });
    return same > 1 ? tr("This address stands here twice.") : QString();
}

void NewWorkersModel::add(Source source, const QString& ssh, const ssh::Destination& destination) {
    Row row{source, {}, false};
    row.worker.ssh = json::Value(ssh.toStdString());
    row.worker.address = freeAddress(destination.host.toStdString());
    beginInsertRows({}, rowCount(), rowCount());
    m_rows.append(row);
    endInsertRows();
}

void NewWorkersModel::removeRow(int row) {
    beginRemoveRows({}, row, row);
    m_rows.removeAt(row);
    endRemoveRows();
    if (rowCount() > 0)
        Q_EMIT dataChanged(index(0, Problem), index(rowCount() - 1, Problem));
}

void NewWorkersModel::removeSsh(Source source, const QString& ssh) {
    for (int row = rowCount() - 1; row >= 0; --row)
        if (m_rows[row].source == source && m_rows[row].worker.sshText() == ssh.toStdString())
            removeRow(row);
}

void NewWorkersModel::setHost(const QString& ssh, const QString& host) {
    for (int row = 0; row < rowCount(); ++row) {
        Row& each = m_rows[row];
        if (each.source == Source::List || each.isEdited ||
            each.worker.sshText() != ssh.toStdString())
            continue;
        each.worker.address.clear(); // its own port is free again
        each.worker.address = freeAddress(host.toStdString());
        Q_EMIT dataChanged(index(0, Address), index(rowCount() - 1, Problem));
    }
}

void NewWorkersModel::setList(const std::vector<cluster::Worker>& workers) {
    beginResetModel();
    m_rows.removeIf([](const Row& row) { return row.source == Source::List; });
    for (const auto& worker : workers)
        m_rows.append({Source::List, worker, false});
    endResetModel();
}

std::vector<cluster::Worker> NewWorkersModel::workers() const {
    std::vector<cluster::Worker> workers;
    for (const Row& row : m_rows)
        workers.push_back(row.worker);
    return workers;
}

int NewWorkersModel::problems() const {
    return static_cast<int>(std::count_if(m_rows.begin(), m_rows.end(), [this](const Row& row) {
        return !problemOf(row).isEmpty();
    }));
}

QString hostListOf(const cluster::ClusterSpec& spec) {
    QString text;
    for (const auto& worker : spec.workers()) {
        const QString ssh = QString::fromStdString(worker.sshText());
        const qsizetype at = worker.isOnThisMachine() ? -1 : ssh.lastIndexOf(QLatin1Char('@'));
        text += ssh.left(at + 1) + QString::fromStdString(worker.address) + QLatin1Char('\n');
    }
    return text;
}

} // namespace lockstep::ui
