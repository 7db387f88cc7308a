// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// The same run on hosts with real sshds: behind a jump host, with fish and noisy start-up files, on
// Debian 11, on another port.
#include "tests/support/lab.h"

#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

using lockstep::support::Ended;
using lockstep::support::Lab;

namespace {

const QString kCtl = QStringLiteral(LOCKSTEP_BIN_DIR "/lockstepctl");
const QString kJob =
    QStringLiteral(LOCKSTEP_SOURCE_DIR "/resources/examples/digits/digits.job.json");

/// What --json ends with.
QJsonObject lastLine(const QByteArray& out) {
    return QJsonDocument::fromJson(out.trimmed().split('\n').last()).object();
}

} // namespace

class TestOverSsh : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        LOCKSTEP_NEEDS_LAB();
        m_lab = std::make_unique<Lab>();
        QVERIFY2(m_lab->isUp(), qPrintable(m_lab->error()));
    }

    void fourHostsTrainToTheDigestOfThisMachine() {
        QByteArray cluster = R"({"format": "lockstep-cluster", "version": 1, "name": "four",
            "workers": [)";
        for (const char* host : {"n1", "n2", "n3", "n4"}) {
            const QString name = QString::fromLatin1(host);
            cluster += QStringLiteral(R"(%1{"ssh": "%2", "address": "%3:3222"})")
                           .arg(name == "n1" ? "" : ", ", name, m_lab->dataAddress(name))
                           .toUtf8();
        }
        const QString file = m_lab->home() + "/four.cluster.json";
        QFile out(file);
        QVERIFY(out.open(QIODevice::WriteOnly) && out.write(cluster + "]}") > 0);
        out.close();
        const QJsonObject far = run({"--cluster", file});
        const QJsonObject near = run({"--local", "4"});
        const QJsonObject digests = far["digest"].toObject();
        QCOMPARE(digests.size(), 4);
        for (const QString& task : digests.keys()) {
            QCOMPARE(digests[task].toString().size(), 64);
            QCOMPARE(digests[task], near["digest"].toObject()[task]);
        }
        // Nothing of ours runs there any more.
        for (const char* host : {"n1", "n2", "n3", "n4"}) {
            const Ended ps = m_lab->onHost(QString::fromLatin1(host), {"ps", "ax", "-o", "args="});
            QVERIFY2(!ps.out.contains("lockstep"), ps.out.constData());
        }
    }

    void argumentsOnTheHostsShowNoContents() {
        const auto running = m_lab->startOnController(
            {kCtl, "run", kJob, "--cluster", m_lab->home() + "/four.cluster.json", "--set",
             "threads_per_worker=1", "--set", "fit.epochs=2000"});
        QByteArray seen;
        QTRY_VERIFY_WITH_TIMEOUT(
            (seen = m_lab->onHost("n1", {"ps", "ax", "-o", "args="}).out).contains(" train "),
            60'000);
        for (const char* word : {"\"cluster\"", "\"secret\"", "TF_CONFIG=", "{"})
            QVERIFY2(!seen.contains(word), seen.constData());
        running->terminate();
        QVERIFY(running->waitForFinished(30'000));
        QTRY_VERIFY_WITH_TIMEOUT(
            !m_lab->onHost("n1", {"ps", "ax", "-o", "args="}).out.contains("lockstep"), 30'000);
    }

private:
    QJsonObject run(const QStringList& where) {
        const Ended ended = m_lab->onController(
            QStringList{kCtl, "run", kJob}
                << where
                << QStringList{"--set", "threads_per_worker=1", "--set", "fit.epochs=3", "--json"},
            {}, 120'000);
        if (ended.exitCode != 0)
            qWarning("%s%s", ended.out.constData(), ended.err.constData());
        return lastLine(ended.out);
    }

    std::unique_ptr<Lab> m_lab;
};

QTEST_GUILESS_MAIN(TestOverSsh)
#include "tst_over_ssh.moc"
