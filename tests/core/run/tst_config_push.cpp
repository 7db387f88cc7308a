// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/files.h"
#include "core/base/hash.h"
#include "core/run/config_push.h"

#include <QFile>
#include <QProcess>
#include <QSignalSpy>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QtTest>

using namespace lockstep;
using namespace lockstep::run;

namespace {

// Not a raw text: moc loses its way in one with such quotes.
const std::string kHard = "{\"cluster\":{\"worker\":[\"n0:2222\"]},"
                          "\"x\":\"it's $HOME \\\"q\\\" \\\\ 中文 \\n !! `id` %s ${A} *? #\"}";

std::string fileFor(const QString& shell, const std::string& value) {
    for (const ShellFile& file : shellFiles(value))
        if (shell == QStringLiteral("fish")         ? file.name == "tf_config.fish"
            : shell.endsWith(QStringLiteral("csh")) ? file.name == "tf_config.csh"
                                                    : file.name == "tf_config.sh")
            return file.text;
    return {};
}

} // namespace

class TestConfigPush : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyShellReadsTheSameBytes_data() {
        QTest::addColumn<QString>("shell");
        QTest::addColumn<QString>("locale");
        for (const char* shell : {"bash", "dash", "zsh", "fish", "tcsh"})
            for (const char* locale : {"C", "C.UTF-8"})
                QTest::addRow("%s %s", shell, locale)
                    << QString::fromUtf8(shell) << QString::fromUtf8(locale);
    }
    void everyShellReadsTheSameBytes() {
        QFETCH(QString, shell);
        QFETCH(QString, locale);
        const QString program = QStandardPaths::findExecutable(shell);
        if (program.isEmpty() && qgetenv("LOCKSTEP_REQUIRE").contains("shells"))
            QFAIL(qPrintable(shell + QStringLiteral(" is not installed")));
        if (program.isEmpty())
            QSKIP(qPrintable(shell + QStringLiteral(" is not installed")));
        QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("tf_config"));
        QVERIFY(files::writeAtomic(file.toStdString(), fileFor(shell, kHard),
                                   files::Durability::Renamed)
                    .ok());
        QProcess process;
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.remove(QStringLiteral("TF_CONFIG"));
        environment.insert(QStringLiteral("LC_ALL"), locale);
        environment.insert(QStringLiteral("HOME"), folder.path());
        process.setProcessEnvironment(environment);
        const QString verb = shell.endsWith(QStringLiteral("csh")) ? QStringLiteral("source ")
                                                                   : QStringLiteral(". ");
        process.start(program,
                      {QStringLiteral("-c"), verb + file + QStringLiteral("; printenv TF_CONFIG")});
        QVERIFY(process.waitForFinished(20'000));
        const QByteArray out = process.readAllStandardOutput();
        QCOMPARE(out, QByteArray::fromStdString(kHard + "\n"));
        QCOMPARE(toHex(sha256(out.chopped(1).toStdString())), toHex(sha256(kHard)));
        QCOMPARE(process.readAllStandardError(), QByteArray());
    }
    void givesEveryTaskItsFiles() {
        QTemporaryDir folder;
        cluster::ClusterSpec spec = cluster::localCluster(2, 2222);
        spec.setName("my lab/训练");
        for (std::size_t place = 0; place < 2; ++place) {
            cluster::Worker worker = spec.workers()[place];
            worker.base = folder.path().toStdString();
            spec.set(place, worker);
        }
        ConfigPush push(defaultHosts(QStringLiteral(LOCKSTEP_BIN_DIR "/lockstep-worker")), spec);
        QSignalSpy done(&push, &ConfigPush::done);
        push.start();
        QVERIFY(done.wait(20'000));
        QCOMPARE(push.results().size(), std::size_t{2});
        for (const PushedConfig& result : push.results()) {
            QVERIFY2(result.status.ok(), result.folder.c_str());
            const auto task = cluster::TaskId::parse(result.task);
            const std::string value = cluster::tfConfigFor(spec, *task)->dump();
            const auto written = files::read(result.folder + "/tf_config.json");
            QVERIFY(written.ok());
            QCOMPARE(*written, value);
            QCOMPARE(result.sha256, toHex(sha256(value)));
            QVERIFY(result.folder.ends_with("/tf_config/my_lab_训练/" + task->pathName()));
            for (const ShellFile& file : shellFiles(value))
                QCOMPARE(*files::read(result.folder + "/" + file.name), file.text);
        }
    }
    void saysWhereItCouldNot() {
        cluster::ClusterSpec spec = cluster::localCluster(1, 2222);
        cluster::Worker worker = spec.workers()[0];
        worker.base = "/proc/version/x";
        spec.set(0, worker);
        ConfigPush push(defaultHosts(QStringLiteral(LOCKSTEP_BIN_DIR "/lockstep-worker")), spec);
        QSignalSpy done(&push, &ConfigPush::done);
        push.start();
        QVERIFY(done.wait(20'000));
        QVERIFY(!push.isSuccess());
        QVERIFY(!push.results()[0].status.error().message.empty());
    }
};

QTEST_GUILESS_MAIN(TestConfigPush)
#include "tst_config_push.moc"
