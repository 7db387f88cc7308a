// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/cluster/host_list.h"

#include <QTest>

using namespace lockstep;
using namespace lockstep::cluster;

namespace {

/// "ssh>address ..." of the workers, then "!line:column" of the problems.
QString summary(const HostList& list) {
    QStringList words;
    for (const Worker& worker : list.workers)
        words << QString::fromStdString((worker.ssh.isNull() ? "-" : worker.ssh.toString()) + ">" +
                                        worker.address);
    for (const HostListProblem& problem : list.problems)
        words << QString("!%1:%2").arg(problem.problem.line).arg(problem.column);
    return words.join(' ');
}

} // namespace

class HostListTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void readsListsAsTheyAreTyped_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* text, const char* expected) {
            QTest::newRow(text) << QString::fromUtf8(text) << QString::fromUtf8(expected);
        };
        const char* two = "h0>h0:2222 h0>h0:2223 h1>h1:2222 h1>h1:2223";
        row("h0:2 ,h1:2", two);
        row("h0:2 h1:2", two);
        row("h0:2,h1:2,", two);
        row("h0:2\nh1:2\n", two);
        row("h0:2;\th1 :2\r\n", two);
        row("h0 slots=2\nh1 slots=2 max_slots=4 # second", two);
        row("[\"h0:2\", \"h1:2\"]", two);
        row(" h0 : 2 ", "h0>h0:2222 h0>h0:2223");
        row("h0:0,h1:2", "h1>h1:2222 h1>h1:2223 !1:4");
        row("h0 slots=0", "!1:10");
        row("h0,h1", "h0>h0:2222 h1>h1:2222");
        row("h0 h0", "h0>h0:2222 h0>h0:2223");
        row("h0:2222 h1:2223", "h0>h0:2222 h1>h1:2223");
        row("h0:2222,h1:0", "h0>h0:2222 !1:12");
        row("h0:2222,h1:070000", "h0>h0:2222 !1:12");
        row("alice@n0:2222, n1:2222", "alice@n0>n0:2222 n1>n1:2222");
        row("[fd00::1]:2222 [fd00::2]", "fd00::1>[fd00::1]:2222 fd00::2>[fd00::2]:2222");
        row("[fe80::1%eth0]:2222", "fe80::1%eth0>[fe80::1%eth0]:2222");
        row("h0:2222 fd00::1:2222", "h0>h0:2222 !1:13");
        row("localhost:2222 127.0.0.1:2223", "->localhost:2222 ->127.0.0.1:2223");
        row("h0:2222\n\nh1:x", "h0>h0:2222 !3:4");
        row("中:2222 h0:70000", "!1:1 !1:11");
        row("h0: h1:2222", "!1:3");
        row("", "!1:1");
        row(" , ,\n", "!1:1");
        row(":2222", "!1:1");
        row("@:2222", "!1:2");
        row("[", "!1:2");
        row("h0:-1", "!1:4");
    }
    void readsListsAsTheyAreTyped() {
        QFETCH(QString, text);
        const HostList list = readHostList(text.toStdString());
        QTEST(summary(list), "expected");
        for (const HostListProblem& problem : list.problems)
            QVERIFY(!problem.problem.message.empty() && !problem.problem.expected.empty());
    }

    void takesNumbersAsTold() {
        QCOMPARE(summary(readHostList("h0:2", HostNumber::Port)), QString("h0>h0:2"));
        QCOMPARE(summary(readHostList("h0:100", HostNumber::Slots)), QString("!1:4"));
        QCOMPARE(readHostList("h0:2").number, HostNumber::Slots);
        QCOMPARE(readHostList("h0:2000").number, HostNumber::Port);
        QCOMPARE(summary(readHostList("h0 slots=2", HostNumber::Guess, 65535)),
                 QString("h0>h0:65535 !1:1"));
    }

    void giveWorkersThatAClusterTakes() {
        ClusterSpec spec;
        for (const Worker& worker : readHostList("alice@n0:2,n1:2").workers)
            spec.add(worker);
        ValidateOptions options;
        options.resolve = [](const std::string&) { return std::vector<std::string>(); };
        QVERIFY(validate(spec, options).empty());
        QCOMPARE(spec.size(), std::size_t(4));
    }
};

QTEST_APPLESS_MAIN(HostListTest)
#include "tst_host_list.moc"
