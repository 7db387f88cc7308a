// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A run driven by a run::RunController, which lives in the GUI thread and never blocks it.

#include "ui/models/run_session.h"

namespace lockstep::ui {

class ControllerSession final : public RunSession {
    Q_OBJECT
public:
    explicit ControllerSession(const run::ControllerOptions& options, QObject* parent = nullptr);

    void launch(run::LaunchRequest request) override;
    void attach(const QString& runId) override;
    void confirm(bool proceeds) override;
    void stop() override;
    void detach() override;
    run::State state() const override;
    const Problems& problems() const override;
    const run::RunRecord& record() const override;
    const metrics::Store& store() const override;
    std::vector<run::HostProgress> hostProgress() const override;
    bool isReadOnly() const override;
    bool isCaughtUp() const override;

private:
    run::RunController m_controller;
};

} // namespace lockstep::ui
