// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/run/catalogue.h"

#include "core/base/files.h"
#include "core/run/run_folder.h"

#include <QSqlDatabase>
#include <QSqlError>
#include <QSqlQuery>
#include <QVariant>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <set>

namespace lockstep::run {

namespace fs = std::filesystem;

namespace {

QString text(const std::string& value) {
    return QString::fromStdString(value);
}

/// When the record was last replaced, as far as the file system can tell.
qint64 stampOf(const std::string& runJson) {
    std::error_code error;
    const auto time = fs::last_write_time(runJson, error);
    return error ? 0 : static_cast<qint64>(time.time_since_epoch().count());
}

QString finalLossText(const CatalogueEntry& entry) {
    // SQLite turns NaN into null, so the text is kept.
    return entry.finalLoss ? QString::number(*entry.finalLoss, 'g', 17) : QString();
}

} // namespace

CatalogueEntry entryOf(const RunRecord& record) {
    CatalogueEntry entry;
    entry.id = record.id;
    entry.name = record.name;
    entry.startedAt = record.startedAt;
    entry.endedAt = record.endedAt;
    entry.status = record.status;
    entry.workers = static_cast<int>(record.tasks.size());
    const json::Value* final = record.summary.find("final");
    if (const json::Value* loss = final ? final->find("loss") : nullptr)
        entry.finalLoss =
            loss->isNumber() ? loss->toNumber() : std::numeric_limits<double>::quiet_NaN();
    return entry;
}

Catalogue::Catalogue(std::string root)
    : m_root(std::move(root)) {
    static std::atomic<int> count{0};
    m_connection = QStringLiteral("lockstep-catalogue-%1").arg(++count);
}

Catalogue::~Catalogue() {
    if (QSqlDatabase::contains(m_connection))
        QSqlDatabase::removeDatabase(m_connection);
}

Status Catalogue::execute(const QString& sql) const {
    QSqlQuery query(QSqlDatabase::database(m_connection, false));
    if (query.exec(sql))
        return {};
    return Error{
        Code::Internal,
        "The catalogue of runs could not be used: " + query.lastError().text().toStdString() + ".",
        m_root + "/catalogue.sqlite"};
}

Status Catalogue::openDatabase() {
    if (!QSqlDatabase::contains(m_connection)) {
        auto database = QSqlDatabase::addDatabase(QStringLiteral("QSQLITE"), m_connection);
        database.setDatabaseName(text(m_root + "/catalogue.sqlite"));
        database.setConnectOptions(QStringLiteral("QSQLITE_BUSY_TIMEOUT=5000"));
    }
    auto database = QSqlDatabase::database(m_connection, false);
    if (!database.isOpen() && !database.open())
        return Error{Code::Internal,
                     "The catalogue of runs could not be opened: " +
                         database.lastError().text().toStdString() + ".",
                     m_root + "/catalogue.sqlite"};
    return execute(QStringLiteral(
        "CREATE TABLE IF NOT EXISTS runs_v1 (id TEXT PRIMARY KEY, name TEXT, started REAL,"
        " ended REAL, status TEXT, workers INTEGER, final_loss TEXT, stamp INTEGER)"));
}

Status Catalogue::open() {
    LOCKSTEP_TRY(files::makeFolders(m_root + "/runs"));
    Status status = openDatabase();
    if (status)
        status = refresh();
    if (status)
        return {};
    // Corrupt or foreign: everything in it is in the folders too.
    QSqlDatabase::database(m_connection, false).close();
    for (const char* suffix : {"", "-journal", "-wal", "-shm"}) {
        std::error_code error;
        fs::remove(m_root + "/catalogue.sqlite" + suffix, error);
    }
    LOCKSTEP_TRY(openDatabase());
    return refresh();
}

Status Catalogue::refresh() {
    QSqlQuery known(QSqlDatabase::database(m_connection, false));
    if (!known.exec(QStringLiteral("SELECT id, stamp FROM runs_v1")))
        return execute(QStringLiteral("SELECT id, stamp FROM runs_v1"));
    std::map<std::string, qint64> stamps;
    while (known.next())
        stamps[known.value(0).toString().toStdString()] = known.value(1).toLongLong();
    known.finish();

    m_unreadable.clear();
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(m_root + "/runs", error)) {
        const std::string id = entry.path().filename().string();
        if (!isRunId(id))
            continue;
        const std::string file = entry.path().string() + "/run.json";
        const auto at = stamps.find(id);
        const bool isCurrent = at != stamps.end() && at->second == stampOf(file);
        if (at != stamps.end())
            stamps.erase(at);
        if (isCurrent)
            continue;
        const auto record = RunFolder(m_root, id).load();
        if (record)
            LOCKSTEP_TRY(put(*record));
        else if (fs::exists(file, error))
            m_unreadable.push_back(id);
    }
    // What is left in `stamps` has no folder any more.
    for (const auto& [id, stamp] : stamps) {
        QSqlQuery query(QSqlDatabase::database(m_connection, false));
        query.prepare(QStringLiteral("DELETE FROM runs_v1 WHERE id = ?"));
        query.addBindValue(text(id));
        query.exec();
    }
    return {};
}

Status Catalogue::put(const RunRecord& record) {
    const CatalogueEntry entry = entryOf(record);
    QSqlQuery query(QSqlDatabase::database(m_connection, false));
    query.prepare(QStringLiteral("INSERT OR REPLACE INTO runs_v1 VALUES (?,?,?,?,?,?,?,?)"));
    query.addBindValue(text(entry.id));
    query.addBindValue(text(entry.name));
    query.addBindValue(entry.startedAt);
    query.addBindValue(entry.endedAt ? QVariant(*entry.endedAt) : QVariant());
    query.addBindValue(text(statusName(entry.status)));
    query.addBindValue(entry.workers);
    query.addBindValue(finalLossText(entry));
    query.addBindValue(stampOf(RunFolder(m_root, entry.id).path() + "/run.json"));
    if (query.exec())
        return {};
    return Error{Code::Internal,
                 "The catalogue of runs could not be written: " +
                     query.lastError().text().toStdString() + ".",
                 m_root + "/catalogue.sqlite"};
}

Result<std::vector<CatalogueEntry>> Catalogue::entries() const {
    QSqlQuery query(QSqlDatabase::database(m_connection, false));
    const auto sql = QStringLiteral("SELECT id, name, started, ended, status, workers, final_loss"
                                    " FROM runs_v1 ORDER BY id DESC");
    if (!query.exec(sql))
        return Error{Code::Internal,
                     "The catalogue of runs could not be read: " +
                         query.lastError().text().toStdString() + ".",
                     m_root + "/catalogue.sqlite"};
    std::vector<CatalogueEntry> entries;
    while (query.next()) {
        CatalogueEntry entry;
        entry.id = query.value(0).toString().toStdString();
        entry.name = query.value(1).toString().toStdString();
        entry.startedAt = query.value(2).toDouble();
        if (!query.value(3).isNull())
            entry.endedAt = query.value(3).toDouble();
        entry.status =
            statusFromName(query.value(4).toString().toStdString()).value_or(RunStatus::Failed);
        entry.workers = query.value(5).toInt();
        if (const QString loss = query.value(6).toString(); !loss.isEmpty()) {
            bool ok = false;
            const double value = loss.toDouble(&ok);
            entry.finalLoss = ok ? value : std::numeric_limits<double>::quiet_NaN();
        }
        entries.push_back(std::move(entry));
    }
    return entries;
}

Status Catalogue::remove(const std::string& id) {
    const RunFolder folder(m_root, id);
    if (!isRunId(id))
        return Error{Code::InvalidArgument, "This is no run's id.", id};
    if (folder.exists() && !WriterLock::tryTake(folder))
        return Error{Code::PermissionDenied,
                     "A program is following this run; stop or detach it first.", id};
    std::error_code error;
    fs::remove_all(folder.path(), error);
    if (error)
        return files::fromErrno(error.value(), "remove", folder.path());
    return refresh();
}

} // namespace lockstep::run
