// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The check of core/run as the window sees it. GUI thread.

#include "core/run/cluster_check.h"
#include "core/run/config_push.h"
#include "ui/models/check_session.h"

#include <QTimer>

#include <memory>

namespace lockstep::ui {

class ClusterCheckSession final : public CheckSession {
    Q_OBJECT
public:
    explicit ClusterCheckSession(run::HostFactory hosts, QObject* parent = nullptr);
    ~ClusterCheckSession() override; ///< ends what is under way

    void start(const cluster::ClusterSpec& spec, Bandwidth bandwidth) override;
    void cancel() override;
    void push(const cluster::ClusterSpec& spec, std::function<void(Status)> done) override;
    const CheckView& view() const override { return m_view; }

private:
    void show();

    run::HostFactory m_hosts;
    std::unique_ptr<run::ClusterCheck> m_check;
    std::unique_ptr<run::ConfigPush> m_push;
    QTimer m_soon; ///< many results come at once
    CheckView m_view;
};

/// A report for the page; `isRunning` tells how to name what is not known yet.
CheckView viewOf(const run::CheckReport& report, bool isRunning);

} // namespace lockstep::ui
