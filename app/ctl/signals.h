// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// SIGINT and SIGTERM as a Qt signal.

#include <QObject>
#include <QSocketNotifier>

#include <memory>

namespace lockstep::ctl {

/// While it lives these signals do not end the program. One at a time.
class Signals : public QObject {
    Q_OBJECT
public:
    Signals();
    ~Signals() override;

Q_SIGNALS:
    void interrupted();

private:
    int m_fds[2] = {-1, -1};
    std::unique_ptr<QSocketNotifier> m_notifier;
};

} // namespace lockstep::ctl
