// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Checks a cluster before a launch: deploys the worker program, asks every host for facts, opens
// the workers' ports and lets every host dial every other. All hosts at once; every step has a
// deadline. Thread: the caller's, with an event loop; nothing blocks it.

#include "core/run/check_report.h"
#include "core/run/host_factory.h"

#include <QObject>

#include <chrono>
#include <memory>

namespace lockstep::run {

struct CheckOptions {
    bool bandwidth = false;                    ///< one second per pair and direction, in rounds
    std::chrono::milliseconds deploy{120'000}; ///< of one host
    std::chrono::milliseconds total{60'000};   ///< of what follows
    std::chrono::milliseconds resolve{30'000}; ///< an unknown name is asked for again so long
    std::chrono::milliseconds connect{3'000};  ///< after which silence is called dropped
    std::chrono::milliseconds echo{2'000};
};

class ClusterCheck : public QObject {
    Q_OBJECT
public:
    ClusterCheck(HostFactory hosts, cluster::ClusterSpec spec, CheckOptions options = {},
                 QObject* parent = nullptr);
    ~ClusterCheck() override; ///< ends what is under way

    /// Once.
    void start();
    /// Ends it where it is; done() follows with what is known.
    void cancel();
    bool isRunning() const;
    const CheckReport& report() const;

Q_SIGNALS:
    void hostChanged(std::size_t host);
    void pairChanged(std::size_t from, std::size_t to);
    void findingsChanged();
    /// Once, last; not from within start().
    void done();

private:
    struct Private;
    std::unique_ptr<Private> m_d;
};

} // namespace lockstep::run
