// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// lockstepctl check and push on hosts with real sshds.
#include "core/base/json.h"
#include "tests/support/lab.h"
#include "tests/support/sanitizer.h"

#include <QFile>
#include <QtTest>

using namespace lockstep;
using support::Ended;
using support::Lab;

namespace {

constexpr double kMostSeconds = support::kIsSanitized ? 60 : 10;

const QString kCtl = QStringLiteral(LOCKSTEP_BIN_DIR "/lockstepctl");

Ended ctl(const Lab& lab, const QStringList& arguments) {
    return lab.onController(QStringList{kCtl} << arguments, {}, 180'000);
}

json::Value checked(const Lab& lab, const QString& cluster, const QStringList& more = {}) {
    const Ended ended =
        ctl(lab, QStringList{QStringLiteral("check"), cluster, QStringLiteral("--json")} << more);
    auto value = json::parse(ended.out.toStdString(), "check");
    if (!value)
        qWarning("%s", ended.err.constData());
    return value ? std::move(*value) : json::Value::object();
}

/// Errors and warnings, but for load: the hosts of a lab share this machine's cores.
QStringList complaints(const json::Value& report) {
    QStringList list;
    const json::Value* findings = report.find("findings");
    if (!findings)
        return {QStringLiteral("no report")};
    for (const json::Value& finding : findings->items())
        if (const std::string id = finding.find("id")->toString();
            finding.find("severity")->toString() != "fact" && id != "load")
            list << QString::fromStdString(id + ": " + finding.find("message")->toString());
    return list;
}

} // namespace

class TestCheckLab : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        LOCKSTEP_NEEDS_LAB();
        if (!QFile::exists(QStringLiteral(LOCKSTEP_BIN_DIR "/bundle/bundle.json")))
            QFAIL("build the target worker_bundle first");
    }

    void checksManyHostsBehindAJumpHost() {
        Lab lab(Lab::manyHostsBehindGw(32));
        QVERIFY2(lab.isUp(), qPrintable(lab.error()));
        QVERIFY2(lab.introduce(), qPrintable(lab.error()));
        const QString cluster = lab.path(QStringLiteral("lab.cluster.json"));
        QCOMPARE(complaints(checked(lab, cluster)), QStringList()); // and leaves the hosts prepared
        const json::Value report = checked(lab, cluster);
        QCOMPARE(complaints(report), QStringList());
        QCOMPARE(report.find("pairs")->size(), std::size_t{32 * 31});
        qInfo("32 hosts in %.1f s, %d handshakes at once", report.find("seconds")->toNumber(),
              lab.mostHandshakesAtOnce(QStringLiteral("gw")));
        QVERIFY(report.find("seconds")->toNumber() <= kMostSeconds);
        QVERIFY(lab.mostHandshakesAtOnce(QStringLiteral("gw")) <= 8);
    }
    void findsWhatIsDroppedAndNarrow() {
        Lab lab(
            {QStringLiteral("n0"), QStringLiteral("n1 shell=fish noisy"), QStringLiteral("n2")});
        QVERIFY2(lab.isUp(), qPrintable(lab.error()));
        const QString cluster = lab.path(QStringLiteral("lab.cluster.json"));
        QCOMPARE(complaints(checked(lab, cluster)), QStringList());
        QVERIFY(lab.drop(QStringLiteral("n0"), QStringLiteral("n1"), 2222));
        QStringList found = complaints(checked(lab, cluster));
        QCOMPARE(found.size(), 1);
        QVERIFY2(found[0].contains(QStringLiteral("n0 could not reach n1")) &&
                     found[0].contains(QStringLiteral("silently dropped in this direction")),
                 qPrintable(found[0]));
        QVERIFY(lab.heal());
        QVERIFY(lab.stopSshd(QStringLiteral("n2")));
        found = complaints(checked(lab, cluster));
        QVERIFY2(found.join(u' ').contains(QStringLiteral("n2 cannot be used")),
                 qPrintable(found.join(u'\n')));
    }
    void takesTheAddressOfSshAndThatOfDataApart() {
        Lab lab({QStringLiteral("n0"), QStringLiteral("n1")});
        QVERIFY2(lab.isUp(), qPrintable(lab.error()));
        QVERIFY(lab.nat(QStringLiteral("n0"), 2201) && lab.nat(QStringLiteral("n1"), 2202));
        QFile file(lab.path(QStringLiteral("home/nat.cluster.json")));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(
            QStringLiteral("{\"format\": \"lockstep-cluster\", \"version\": 1, \"name\": \"nat\", "
                           "\"workers\": ["
                           "{\"ssh\": \"ssh://bash@203.0.113.7:2201\", \"address\": \"%1:2222\"},"
                           "{\"ssh\": \"ssh://bash@203.0.113.7:2202\", \"address\": \"%2:2222\"}]}")
                .arg(lab.dataAddress(QStringLiteral("n0")), lab.dataAddress(QStringLiteral("n1")))
                .toUtf8());
        file.close();
        QCOMPARE(complaints(checked(lab, file.fileName())), QStringList());
    }
    void pushesToEveryShellAndShowsNothingInPs() {
        Lab lab({QStringLiteral("n0 shell=bash"), QStringLiteral("n1 shell=fish noisy"),
                 QStringLiteral("n2 shell=tcsh"), QStringLiteral("n3 shell=zsh"),
                 QStringLiteral("n4 shell=dash")});
        QVERIFY2(lab.isUp(), qPrintable(lab.error()));
        auto watch = lab.startOnHost(
            QStringLiteral("n0"),
            {QStringLiteral("sh"), QStringLiteral("-c"),
             QStringLiteral("while :; do cat /proc/[0-9]*/cmdline; done > /tmp/seen 2>/dev/null")});
        const Ended ended =
            ctl(lab, {QStringLiteral("push"), lab.path(QStringLiteral("lab.cluster.json")),
                      QStringLiteral("--json")});
        watch->kill();
        watch->waitForFinished();
        QVERIFY2(ended.exitCode == 0, (ended.out + ended.err).constData());
        QFile log(lab.hostPath(QStringLiteral("n0"), QStringLiteral("/tmp/seen")));
        QVERIFY(log.open(QIODevice::ReadOnly));
        const QByteArray seen = log.readAll();
        QVERIFY(seen.contains("lockstep"));
        QVERIFY(!seen.contains("10.77.0."));
        QVERIFY(!seen.contains("\"cluster\""));
        const auto report = json::parse(ended.out.toStdString(), "push");
        QVERIFY(report.ok());
        const QStringList shells{QStringLiteral("bash"), QStringLiteral("fish"),
                                 QStringLiteral("tcsh"), QStringLiteral("zsh"),
                                 QStringLiteral("dash")};
        for (int host = 0; host < shells.size(); ++host) {
            const json::Value& task =
                report->find("tasks")->items()[static_cast<std::size_t>(host)];
            const QString folder = QString::fromStdString(task.find("folder")->toString());
            const bool isCsh = shells[host] == QStringLiteral("tcsh");
            const QString ending = shells[host] == QStringLiteral("fish") ? QStringLiteral("fish")
                                   : isCsh                                ? QStringLiteral("csh")
                                                                          : QStringLiteral("sh");
            const Ended hash =
                lab.onHost(QStringLiteral("n%1").arg(host),
                           {shells[host], QStringLiteral("-c"),
                            (isCsh ? QStringLiteral("source ") : QStringLiteral(". ")) + folder +
                                QStringLiteral("/tf_config.") + ending +
                                QStringLiteral("; printenv TF_CONFIG | tr -d '\\n' | sha256sum")});
            QVERIFY2(QString::fromUtf8(hash.out).contains(
                         QString::fromStdString(task.find("sha256")->toString())),
                     hash.err.constData());
        }
    }
};

QTEST_GUILESS_MAIN(TestCheckLab)
#include "tst_check_lab.moc"
