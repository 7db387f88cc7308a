// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/run/verdict.h"

#include <QTest>

using namespace lockstep;
using namespace lockstep::run;

namespace {

wire::Failed peerLost(const std::string& task) {
    return {task, "n", "peer_lost", "killed", task + " was lost."};
}

agent::ProcessState exited(const std::string& task, std::optional<int> code,
                           std::optional<int> signal = {}) {
    agent::ProcessState state;
    state.phase = agent::Phase::Exited;
    state.task = task;
    state.endedAt = 50;
    state.exitCode = code;
    state.signal = signal;
    return state;
}

} // namespace

class TstVerdict : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void blamesTheOneThatDiedNotThoseThatComplainEarlier() {
        const std::vector<Evidence> all = {
            *evidenceOf("worker:0", 10.0, peerLost("worker:2")),
            *evidenceOf("worker:1", 10.1, peerLost("worker:2")),
            *evidenceOf(exited("worker:2", {}, 9), std::nullopt),
        };
        const auto cause = earliestCause(all);
        QCOMPARE(cause->task, std::string("worker:2"));
        QVERIFY(cause->isOwn);
        QVERIFY(cause->reason.find("SIGKILL") != std::string::npos);
    }

    void blamesTheOutOfMemoryRankNotTheRingErrorsAfterIt() {
        const wire::Failed outOfMemory{"worker:2", "n2", "out_of_memory", "own", "No memory."};
        // Clocks of the complaining hosts are 40 s behind.
        const std::vector<Evidence> all = {
            *evidenceOf("worker:0", 60.3, peerLost("worker:1")),
            *evidenceOf("worker:2", 100.0, outOfMemory),
            *evidenceOf("worker:3", 60.4, peerLost("worker:2")),
        };
        QCOMPARE(earliestCause(all)->reason, std::string("No memory."));
    }

    void takesAPeersWordWhereTheFrozenOneSaysNothing() {
        const std::vector<Evidence> all = {
            *evidenceOf("worker:1", 11.0, peerLost("worker:3")),
            *evidenceOf("worker:0", 10.0, peerLost("worker:2")),
        };
        QCOMPARE(earliestCause(all)->task, std::string("worker:2"));
        QVERIFY(!earliestCause({}));
    }

    void findsNoFaultInWhatWeStoppedOrWhatIsGood() {
        QVERIFY(!evidenceOf("worker:0", 1, {"worker:0", "n", "cancelled", "stopped", "Stopped."}));
        QVERIFY(!evidenceOf(exited("worker:0", 0), std::nullopt));
        agent::ProcessState running;
        QVERIFY(!evidenceOf(running, std::nullopt));
    }

    void addsNothingToAnExitThatWasExplained() {
        QVERIFY(!evidenceOf(exited("worker:0", 1), peerLost("worker:1")));
        QVERIFY(evidenceOf(exited("worker:0", 1), std::nullopt));
        QVERIFY(evidenceOf(exited("worker:0", {}, 9), peerLost("worker:1")));
    }
};

QTEST_APPLESS_MAIN(TstVerdict)
#include "tst_verdict.moc"
