// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "tests/ui/support/made_up_check.h"

namespace lockstep::ui {

CheckView madeUpCheckView(int hosts) {
    CheckView view;
    for (int i = 0; i < hosts; ++i) {
        CheckHost host;
        host.task = QStringLiteral("worker:%1").arg(i);
        host.name = QStringLiteral("alice@n%1").arg(i);
        host.state = CheckHost::State::Done;
        host.words = QStringLiteral("ready");
        host.facts = {{QStringLiteral("System"), QStringLiteral("Debian 12")},
                      {QStringLiteral("C library"),
                       i == 2 ? QStringLiteral("glibc 2.31") : QStringLiteral("glibc 2.36")},
                      {QStringLiteral("Cores"), QStringLiteral("32")},
                      {QStringLiteral("Memory"), QStringLiteral("125.6\u202fGiB"), true},
                      {QStringLiteral("Load"), QStringLiteral("0.%1").arg(10 + i), true},
                      {QStringLiteral("Driver"),
                       i == 1 ? QStringLiteral("535.161") : QStringLiteral("550.54")},
                      {QStringLiteral("Clock"), QStringLiteral("+0.4\u202fms"), true}};
        view.hosts.append(host);
    }
    for (int from = 0; from < hosts; ++from)
        for (int to = 0; to < hosts; ++to) {
            CheckPair pair;
            pair.state = from == to ? CheckPair::State::Self : CheckPair::State::Good;
            pair.roundTripSeconds = from == to ? 0 : 0.0003;
            view.pairs.append(pair);
        }
    const auto at = [&](int from, int to) -> CheckPair& { return view.pairs[from * hosts + to]; };
    at(0, 1) = {CheckPair::State::Dropped,
                QStringLiteral("n0 could not reach n1 on 10.0.0.2:2222: packets are dropped "
                               "silently in this direction."),
                0, 0};
    view.findings = {
        {FindingKind::Error, QStringLiteral("worker:0 → worker:1"),
         QStringLiteral("n0 could not reach n1 on 10.0.0.2:2222: packets are dropped silently in "
                        "this direction."),
         QStringLiteral("Usually a firewall on n1 or between them. Open TCP 2222, or give n1 "
                        "another port.")}};
    if (hosts > 3) {
        at(3, 0) = {CheckPair::State::WrongAnswer,
                    QStringLiteral("10.0.0.1:2222 belongs to run X, started 14:02 by alice."), 0,
                    0};
        at(3, 1) = {CheckPair::State::Refused, {}, 0, 0};
        at(2, 3) = {CheckPair::State::NameUnknown, {}, 0, 0};
        at(1, 3) = {CheckPair::State::Warning, QStringLiteral("64 KiB echo failed, 1 KiB ok."),
                    0.0004, 0};
        view.findings.append({FindingKind::Warning, QStringLiteral("worker:1 → worker:3"),
                              QStringLiteral("64 KiB echo failed, 1 KiB ok: large packets are lost "
                                             "on the way."),
                              QStringLiteral("Set the same MTU on both ends.")});
    }
    view.findings.append({FindingKind::Warning,
                          QStringLiteral("worker:1"),
                          QStringLiteral("NVIDIA driver 535.161 differs from 550.54 on the other "
                                         "hosts."),
                          {}});
    view.findings.append(
        {FindingKind::Fact, {}, QStringLiteral("Clocks differ by 0.8 ms at most."), {}});
    view.words = QStringLiteral("Checked %1 hosts in 4.2 s.").arg(hosts);
    view.progress = 1;
    return view;
}

} // namespace lockstep::ui
