// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/models/catalogue_library.h"

#include "core/run/run_folder.h"
#include "ui/models/format.h"

#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace lockstep::ui {
namespace {

/// Numbers that are not finite are texts in a summary.
double numberOf(const json::Value& value) {
    return value.isNumber() ? value.toNumber() : std::numeric_limits<double>::quiet_NaN();
}

RunEntry describeRun(const run::CatalogueEntry& entry, const run::RunRecord& record) {
    RunEntry run;
    run.entry = entry;
    run.hasModel = record.model.has_value();
    if (record.failure)
        run.failure = QString::fromStdString(record.failure->reason);
    if (const json::Value* epochs = record.summary.find("epochs"); epochs && epochs->isArray())
        for (const json::Value& epoch : epochs->items())
            if (const json::Value* loss = epoch.find("loss"))
                run.losses.append(numberOf(*loss));
    if (const json::Value* last = record.summary.find("final"); last && last->isObject())
        for (const json::Member& member : last->members())
            if (member.key != "epoch")
                run.finalValues.append(
                    {QString::fromStdString(member.key), numberOf(member.value)});
    if (const json::Value* rate = record.summary.find("samples_per_second");
        rate && rate->isNumber())
        run.samplesPerSecond = rate->toNumber();
    return run;
}

} // namespace

class CatalogueLibrary::Shelf final : public QObject {
public:
    explicit Shelf(std::string root)
        : m_root(std::move(root)) {}

    /// Reads the list; what is over is described once.
    Status read(QList<RunEntry>& runs) {
        if (!m_catalogue) {
            auto catalogue = std::make_unique<run::Catalogue>(m_root);
            LOCKSTEP_TRY(catalogue->open());
            m_catalogue = std::move(catalogue);
        } else {
            LOCKSTEP_TRY(m_catalogue->refresh());
        }
        auto entries = m_catalogue->entries();
        if (!entries.ok())
            return std::move(entries).error();
        for (const auto& entry : *entries) {
            const auto known = m_known.find(entry.id);
            if (known != m_known.end() && known->second.entry == entry) {
                runs.append(known->second);
                continue;
            }
            const auto record = run::RunFolder(m_root, entry.id).load();
            runs.append(describeRun(entry, record.ok() ? *record : run::RunRecord()));
            if (entry.status != run::RunStatus::Running)
                m_known[entry.id] = runs.back();
        }
        return {};
    }

    Status remove(const std::string& id) {
        if (!m_catalogue)
            return Error{Code::NotFound, "The list of runs has not been read yet.", id};
        return m_catalogue->remove(id);
    }

    const std::string& root() const { return m_root; }

private:
    std::string m_root;
    std::unique_ptr<run::Catalogue> m_catalogue; ///< made and used in this thread
    std::map<std::string, RunEntry> m_known;
};

CatalogueLibrary::CatalogueLibrary(std::string root, QObject* parent)
    : RunLibrary(parent)
    , m_root(root.empty() ? run::defaultRoot() : std::move(root))
    , m_shelf(new Shelf(m_root)) {
    m_shelf->moveToThread(&m_thread);
    connect(&m_thread, &QThread::finished, m_shelf, &QObject::deleteLater);
    m_thread.start();
}

CatalogueLibrary::~CatalogueLibrary() {
    m_thread.quit();
    m_thread.wait();
}

void CatalogueLibrary::post(std::function<Status(Shelf&)> work, Done done) {
    QMetaObject::invokeMethod(m_shelf, [this, work = std::move(work), done = std::move(done)] {
        const Status status = work(*m_shelf);
        QMetaObject::invokeMethod(
            this, [status, done] { done(status); }, Qt::QueuedConnection);
    });
}

void CatalogueLibrary::refresh() {
    if (m_isReading)
        return;
    m_isReading = true;
    auto runs = std::make_shared<QList<RunEntry>>();
    post([runs](Shelf& shelf) { return shelf.read(*runs); },
         [this, runs](const Status& status) {
             m_isReading = false;
             setEntries(*runs, status.ok()
                                   ? QString()
                                   : plainText(QString::fromStdString(describe(status.error()))));
         });
}

void CatalogueLibrary::exportModel(const QString& runId, const QString& target, Done done) {
    post(
        [id = runId.toStdString(), to = target.toStdString()](Shelf& shelf) {
            return run::exportModel(run::RunFolder(shelf.root(), id), to, run::modelFormatOf(to));
        },
        std::move(done));
}

void CatalogueLibrary::exportMetrics(const QString& runId, const QString& target, Done done) {
    post(
        [id = runId.toStdString(), to = target.toStdString()](Shelf& shelf) {
            return run::exportMetrics(run::RunFolder(shelf.root(), id).path(), to);
        },
        std::move(done));
}

void CatalogueLibrary::remove(const QString& runId, Done done) {
    post([id = runId.toStdString()](Shelf& shelf) { return shelf.remove(id); },
         [this, done = std::move(done)](const Status& status) {
             done(status);
             refresh();
         });
}

} // namespace lockstep::ui
