// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The catalogue of runs on a thread of its own, so that neither a slow disk nor a long history
// holds the window up. Members are called from the GUI thread.

#include "ui/models/run_session.h"

#include <QThread>

#include <memory>
#include <string>

namespace lockstep::ui {

class CatalogueLibrary final : public RunLibrary {
    Q_OBJECT
public:
    explicit CatalogueLibrary(std::string root, QObject* parent = nullptr);
    /// Lets the work at hand finish.
    ~CatalogueLibrary() override;

    void refresh() override;
    void exportModel(const QString& runId, const QString& target, Done done) override;
    void exportMetrics(const QString& runId, const QString& target, Done done) override;
    void remove(const QString& runId, Done done) override;

private:
    class Shelf; ///< lives in the thread
    void post(std::function<Status(Shelf&)> work, Done done);
    std::string m_root;
    QThread m_thread;
    Shelf* m_shelf;
    bool m_isReading = false;
};

} // namespace lockstep::ui
