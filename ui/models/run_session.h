// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// One run as the window sees it, and the list of all runs. Interfaces, so that pages can be shown
// with made-up runs; the real ones are controller_session.h. GUI thread; nothing here blocks.

#include "core/base/problem.h"
#include "core/metrics/store.h"
#include "core/run/catalogue.h"
#include "core/run/run_controller.h"

#include <QList>
#include <QObject>
#include <QString>

#include <functional>
#include <memory>

namespace lockstep::ui {

class RunSession : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;

    virtual void launch(run::LaunchRequest request) = 0;
    virtual void attach(const QString& runId) = 0;
    virtual void confirm(bool proceeds) = 0;
    virtual void stop() = 0;
    virtual void detach() = 0;

    virtual run::State state() const = 0;
    virtual const Problems& problems() const = 0;
    virtual const run::RunRecord& record() const = 0;
    virtual const metrics::Store& store() const = 0;
    /// Of every task's host, while the run starts or is looked for again.
    virtual std::vector<run::HostProgress> hostProgress() const { return {}; }
    virtual bool isReadOnly() const { return false; }
    virtual bool isCaughtUp() const { return true; }

    /// A finished run's folder, opened to look at: the record's status is its end.
    bool isOver() const { return run::isFinal(state()); }

Q_SIGNALS:
    void stateChanged();
    /// The check before the launch has warnings, the last of problems(): confirm() or stop().
    void confirmationWanted();
    void done();
};

using SessionFactory = std::function<std::unique_ptr<RunSession>()>;

struct RunEntry {
    run::CatalogueEntry entry;
    QList<double> losses; ///< of the epochs, for the small curve
    bool hasModel = false;
    QString failure;                               ///< why it failed, a full sentence
    QList<std::pair<QString, double>> finalValues; ///< loss, metrics, in Keras' order
    double samplesPerSecond = 0;
    bool operator==(const RunEntry&) const = default;
};

class RunLibrary : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;
    using Done = std::function<void(const Status&)>;

    /// Reads the list again; entriesChanged() follows.
    virtual void refresh() = 0;
    const QList<RunEntry>& entries() const { return m_entries; }
    /// Of the last refresh that failed; empty where it did not.
    const QString& failure() const { return m_failure; }
    bool isLoaded() const { return m_isLoaded; }

    // Each calls `done` later, once, from the event loop.
    virtual void exportModel(const QString& runId, const QString& target, Done done) = 0;
    virtual void exportMetrics(const QString& runId, const QString& target, Done done) = 0;
    virtual void remove(const QString& runId, Done done) = 0;

Q_SIGNALS:
    void entriesChanged();

protected:
    void setEntries(QList<RunEntry> entries, const QString& failure = {});

private:
    QList<RunEntry> m_entries;
    QString m_failure;
    bool m_isLoaded = false;
};

} // namespace lockstep::ui
