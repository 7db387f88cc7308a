// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/failure.h"
#include "core/base/problem.h"
#include "core/base/result.h"

#include <QtTest>

#include <memory>

using namespace lockstep;

namespace {

Status passesOn(const Status& status) {
    LOCKSTEP_TRY(status);
    return Error{Code::Internal, "went on", {}};
}

} // namespace

class TestResult : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void holdsAValueOrAnError() {
        const Result<int> good = 3;
        QVERIFY(good.ok());
        QCOMPARE(*good, 3);
        const Result<int> bad = Error{Code::NotFound, "No.", "here"};
        QVERIFY(!bad);
        QCOMPARE(bad.error().code, Code::NotFound);
    }

    void movesTheValueOut() {
        Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
        const std::unique_ptr<int> taken = std::move(result).value();
        QCOMPARE(*taken, 5);
    }

    void returnsTheErrorToTheCaller() {
        QCOMPARE(passesOn({}).error().message, "went on");
        QCOMPARE(passesOn(Error{Code::TimedOut, "late", {}}).error().code, Code::TimedOut);
    }

    void namesEveryCodeBothWays() {
        for (int i = 0; i <= static_cast<int>(Code::Internal); ++i) {
            const auto code = static_cast<Code>(i);
            QCOMPARE(codeFromName(codeName(code)), code);
        }
        QCOMPARE(std::string(codeName(Code::PeerLost)), "peer_lost");
        QCOMPARE(codeFromName("of a newer program"), Code::Internal);
    }

    void describesWithThePlaceFirst() {
        QCOMPARE(describe(Error{Code::NotFound, "It is gone.", "n1"}), "n1: It is gone.");
        QCOMPARE(describe(Error{Code::NotFound, "It is gone.", {}}), "It is gone.");
    }

    void turnsErrorsIntoFailures() {
        QCOMPARE(valueOrThrow(Result<int>(4)), 4);
        try {
            valueOrThrow(Result<int>(Error{Code::Corrupt, "Bad.", "f"}));
            QFAIL("nothing was thrown");
        } catch (const Failure& failure) {
            QCOMPARE(failure.error().code, Code::Corrupt);
            QCOMPARE(std::string(failure.what()), "f: Bad.");
        }
    }

    void checksNameTheirPlace() {
        const auto broken = [](int a, int b) {
            LOCKSTEP_CHECK(a == b, "[test] expected " << a << ", got " << b);
        };
        broken(1, 1);
        try {
            broken(1, 2);
            QFAIL("nothing was thrown");
        } catch (const Failure& failure) {
            QCOMPARE(failure.error().message, "[test] expected 1, got 2");
            QVERIFY(failure.error().where.find("tst_result.cpp:") != std::string::npos);
        }
    }

    void describesProblemsForATerminal() {
        const Problem problem{Severity::Error,   "a.json", "workers.1.address", 7,
                              "\"x\" is wrong.", "a:1",    "Add a port."};
        QCOMPARE(describe(problem),
                 "a.json:7: workers.1.address: \"x\" is wrong. Expected a:1. Add a port.");
        QCOMPARE(describe(Problem{Severity::Warning, {}, {}, 0, "Odd.", {}, {}}), "warning: Odd.");
        QVERIFY(hasErrors({problem}));
        QVERIFY(!hasErrors({Problem{Severity::Warning, {}, {}, 0, "Odd.", {}, {}}}));
    }
};

QTEST_APPLESS_MAIN(TestResult)
#include "tst_result.moc"
