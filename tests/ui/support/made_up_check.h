// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A check with a view that a test writes.

#include "ui/models/check_session.h"

namespace lockstep::ui {

class MadeUpCheck final : public CheckSession {
    Q_OBJECT
public:
    using CheckSession::CheckSession;
    void start(const cluster::ClusterSpec&, Bandwidth bandwidth) override {
        ++starts;
        measured = bandwidth == Bandwidth::Measure;
        m_view.isRunning = true;
        Q_EMIT changed();
    }
    void cancel() override {
        m_view.isRunning = false;
        Q_EMIT changed();
    }
    void push(const cluster::ClusterSpec&, std::function<void(Status)> done) override {
        pushed = std::move(done);
    }
    const CheckView& view() const override { return m_view; }
    void set(CheckView view) {
        m_view = std::move(view);
        Q_EMIT changed();
    }

    int starts = 0;
    bool measured = false;
    std::function<void(Status)> pushed;

private:
    CheckView m_view;
};

/// `hosts` hosts of which one has another driver, one pair is dropped and one port is taken.
CheckView madeUpCheckView(int hosts);

} // namespace lockstep::ui
