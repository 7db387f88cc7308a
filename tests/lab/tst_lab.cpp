// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// The lab does what its users build on, seen with OpenSSH's client and tools of the hosts; and it
// changes nothing outside itself.
#include "tests/support/lab.h"

#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTest>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

using namespace lockstep::support;

namespace {

const QString kState = QStringLiteral("/run/lockstep-lab");

QString script(const QString& name) {
    return QStringLiteral(LOCKSTEP_SOURCE_DIR "/tests/lab/") + name;
}

QByteArray outputOf(const QStringList& command) {
    return runToEnd(command, {}, 20000).out;
}

/// What another program could see of the machine's network, mounts and accounts.
QByteArray machine() {
    QByteArray text;
    text += outputOf({"ip", "-d", "link"});
    text += outputOf({"ip", "-br", "address"});
    text += outputOf({"ip", "route", "show", "table", "all"});
    text += outputOf({"ip", "rule"});
    text += outputOf({"nft", "list", "ruleset"});
    text += outputOf({"cat", "/proc/self/mounts", "/etc/passwd", "/etc/hosts", "/etc/hostname"});
    text += outputOf({"uname", "-n"});
    return text;
}

/// Processes of this machine that name the lab's folder.
QStringList processesOf(const QString& folder) {
    QStringList found;
    const QStringList pids = QDir(QStringLiteral("/proc")).entryList({"[0-9]*"}, QDir::Dirs);
    for (const QString& pid : pids) {
        QFile file(QStringLiteral("/proc/%1/cmdline").arg(pid));
        if (!file.open(QIODevice::ReadOnly))
            continue;
        QByteArray words = file.readAll();
        if (words.contains(folder.toUtf8()))
            found += pid + u' ' + QString::fromUtf8(words.replace('\0', ' '));
    }
    return found;
}

/// The fastest of five TCP connections, in milliseconds; -1 where none came about.
double connectMilliseconds(const QString& address, quint16 port) {
    double best = -1;
    for (int attempt = 0; attempt < 5; ++attempt) {
        const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in target{};
        target.sin_family = AF_INET;
        target.sin_port = htons(port);
        inet_pton(AF_INET, qPrintable(address), &target.sin_addr);
        QElapsedTimer timer;
        timer.start();
        const bool isConnected =
            connect(descriptor, reinterpret_cast<sockaddr*>(&target), sizeof target) == 0;
        const double taken = static_cast<double>(timer.nsecsElapsed()) / 1e6;
        close(descriptor);
        if (isConnected && (best < 0 || taken < best))
            best = taken;
    }
    return best;
}

} // namespace

class TestLab : public QObject {
    Q_OBJECT

private:
    /// "open", "refused" or "silent": what a connection from one host to another's sshd meets.
    QString meets(const QString& from, const QString& to, int port = 22) {
        const QString text =
            QStringLiteral("exec 3<>/dev/tcp/%1/%2 && read -t 1 -r -u 3 line").arg(to).arg(port);
        switch (m_lab->onHost(from, {"timeout", "1", "bash", "-c", text}).exitCode) {
        case 0:
            return QStringLiteral("open");
        case 1:
            return QStringLiteral("refused");
        case 124:
            return QStringLiteral("silent");
        default:
            return QStringLiteral("error");
        }
    }
    Ended ssh(const QString& destination, const QString& command, const QByteArray& input = {}) {
        return m_lab->onController(
            {"ssh", "-o", "ConnectTimeout=5", "-o", "BatchMode=yes", destination, command}, input);
    }
    double megabitsPerSecond(const QStringList& options = {}) {
        const auto server = m_lab->startOnHost("n0", {"iperf3", "-s", "-1", "-p", "5201"});
        double rate = 0;
        // The server takes a moment; a client that comes too early is refused.
        for (QElapsedTimer timer = started(); rate == 0 && timer.elapsed() < 20000;) {
            const Ended ended = m_lab->onHost(
                "n1",
                QStringList{"iperf3", "-J", "-t", "2", "-c", m_lab->dataAddress("n0")} + options);
            rate = QJsonDocument::fromJson(ended.out)["end"]["sum_received"]["bits_per_second"]
                       .toDouble() /
                   1e6;
        }
        server->waitForFinished(5000);
        return rate;
    }
    static QElapsedTimer started() {
        QElapsedTimer timer;
        timer.start();
        return timer;
    }

    QByteArray m_machine;
    std::unique_ptr<Lab> m_lab;

private Q_SLOTS:
    void initTestCase() {
        LOCKSTEP_NEEDS_LAB();
        m_machine = machine();
        m_lab = std::make_unique<Lab>();
        QVERIFY2(m_lab->isUp(), qPrintable(m_lab->error()));
    }
    void cleanup() {
        if (m_lab)
            QVERIFY2(m_lab->heal(), qPrintable(m_lab->error()));
    }

    void reachesEachAccount_data() {
        QTest::addColumn<QString>("destination");
        QTest::addColumn<QByteArray>("answer");
        QTest::newRow("bash") << "n0" << QByteArray("n0 bash\n");
        QTest::newRow("fish whose start-up file prints") << "n1" << QByteArray("n1 fish\n");
        QTest::newRow("bash whose start-up file prints") << "n1-bash" << QByteArray("n1 bash\n");
        QTest::newRow("Debian 11") << "n2" << QByteArray("n2 bash\n");
        QTest::newRow("port 2222") << "n3" << QByteArray("n3 bash\n");
        QTest::newRow("behind a jump host") << "n4" << QByteArray("n4 bash\n");
        QTest::newRow("by IPv6") << "n06" << QByteArray("n0 bash\n");
        QTest::newRow("IPv6, jump host") << "n46" << QByteArray("n4 bash\n");
        for (const char* shell : {"dash", "zsh", "fish", "tcsh"}) {
            QTest::newRow(shell) << QStringLiteral("n0-%1").arg(shell)
                                 << QByteArray("n0 ") + shell + "\n";
            QTest::addRow("Debian 11's %s", shell)
                << QStringLiteral("n2-%1").arg(shell) << QByteArray("n2 ") + shell + "\n";
        }
    }
    void reachesEachAccount() {
        QFETCH(QString, destination);
        QFETCH(QByteArray, answer);
        const Ended ended = ssh(destination, "exec /bin/sh", "echo $(uname -n) $(id -un)\n");
        QVERIFY2(ended.exitCode == 0, ended.err);
        QVERIFY2(ended.out.endsWith(answer), ended.out + ended.err);
        const bool isNoisy = destination.startsWith("n1");
        QCOMPARE(ended.out.size() > answer.size(), isNoisy);
    }
    void refusesShellsThatAreNone() {
        QCOMPARE(ssh("n0-false", "exec /bin/sh", "echo hello\n").out, QByteArray());
        QCOMPARE(ssh("n0-rbash", "pwd").out, QByteArray("/home/rbash\n"));
        QVERIFY(ssh("n0-rbash", "/bin/pwd").exitCode != 0);
    }
    void letsNobodyInFromOutside() {
        // The same command with this machine's own network reaches nothing.
        const Ended ended = runToEnd({"ssh", "-F", m_lab->sshConfig(), "-o", "ConnectTimeout=1",
                                      "-o", "BatchMode=yes", "n0", "true"},
                                     {}, 20000);
        QVERIFY(ended.exitCode != 0);
        QVERIFY(m_lab->onController({"ssh", "-F", m_lab->sshConfig(), "n0", "true"}).exitCode == 0);
        QVERIFY(m_lab
                    ->onController({"timeout", "1", "bash", "-c",
                                    "exec 3<>/dev/tcp/" + m_lab->sshAddress("n4") + "/22"})
                    .exitCode != 0);
    }

    void givesEachHostItsOwnNameAndMachine() {
        QSet<QByteArray> seen;
        for (const char* host : {"n0", "n1", "n2", "n3", "n4", "gw"}) {
            const Ended ended =
                m_lab->onHost(host, {"sh", "-c",
                                     "uname -n; cat /etc/hostname /etc/machine-id "
                                     "/proc/sys/kernel/random/boot_id; cd /proc/self/ns; "
                                     "readlink net mnt uts ipc pid"});
            const QList<QByteArray> lines = ended.out.trimmed().split('\n');
            QVERIFY2(lines.size() == 9, ended.out + ended.err);
            QCOMPARE(lines[0], QByteArray(host));
            QCOMPARE(lines[1], QByteArray(host));
            QCOMPARE(lines[2].size(), 32);
            for (const QByteArray& line : lines.mid(2)) {
                QVERIFY2(!seen.contains(line), line);
                seen += line;
            }
        }
        const QByteArray libc = m_lab->onHost("n2", {"getconf", "GNU_LIBC_VERSION"}).out;
        QCOMPARE(libc, QByteArray("glibc 2.31\n"));
    }
    void keepsProcessesAndFilesApart() {
        const auto sleeper = m_lab->startOnHost("n0", {"sleep", "4711"});
        QTRY_VERIFY(m_lab->onHost("n0", {"pgrep", "-f", "sleep 4711"}).exitCode == 0);
        QVERIFY(m_lab->onHost("n1", {"pgrep", "-f", "sleep 4711"}).exitCode == 1);
        sleeper->kill();
        QTRY_VERIFY(m_lab->onHost("n0", {"pgrep", "-f", "sleep 4711"}).exitCode == 1);
        for (const char* folder : {"/tmp", "/home/bash", "/run", "/dev/shm", "/var/tmp", "/etc"}) {
            const QString path = QString::fromLatin1(folder) + "/mark";
            QVERIFY(m_lab->onHost("n0", {"sh", "-c", "echo n0 >" + path}).exitCode == 0);
            QVERIFY(m_lab->onHost("n1", {"test", "-e", path}).exitCode == 1);
            QVERIFY2(!QFile::exists(path), qPrintable(path));
            QFile file(m_lab->hostPath("n0", path));
            QVERIFY2(file.open(QIODevice::ReadOnly), qPrintable(file.fileName()));
            QCOMPARE(file.readAll(), QByteArray("n0\n"));
        }
        // Nothing of this machine but its programs, and those cannot be changed.
        QVERIFY(m_lab->onHost("n0", {"test", "-e", LOCKSTEP_SOURCE_DIR}).exitCode == 1);
        QVERIFY(m_lab->onHost("n0", {"touch", "/usr/mark"}).exitCode != 0);
    }
    void copiesFilesAndChecksHostKeys() {
        QByteArray bytes(3'000'000, '\0');
        for (qsizetype i = 0; i < bytes.size(); ++i)
            bytes[i] = static_cast<char>(i * 31 + i / 251);
        QFile file(m_lab->home() + "/blob");
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(bytes);
        file.close();
        const Ended ended = m_lab->onController({"scp", "-q", file.fileName(), "n4:blob"});
        QVERIFY2(ended.exitCode == 0, ended.err);
        QFile copy(m_lab->hostPath("n4", "/home/bash/blob"));
        QVERIFY(copy.open(QIODevice::ReadOnly));
        QCOMPARE(copy.readAll(), bytes);

        QVERIFY2(m_lab->changeHostKey("n3"), qPrintable(m_lab->error()));
        QVERIFY(ssh("n3", "true").err.contains("REMOTE HOST IDENTIFICATION HAS CHANGED"));
    }
    void leadsToAHostByAnotherAddress() {
        QVERIFY2(m_lab->nat("n0", 2201) && m_lab->nat("n1", 2202), qPrintable(m_lab->error()));
        const QStringList command{"ssh", "-p", "2202", "bash@203.0.113.7", "uname -n"};
        QVERIFY(m_lab->onController(command).out.endsWith("n1\n"));
        QCOMPARE(m_lab->dataAddress("n1"), QStringLiteral("10.77.0.12"));
    }

    void dropsInOneDirectionOnly() {
        const QString n0 = m_lab->dataAddress("n0");
        const QString n1 = m_lab->dataAddress("n1");
        QCOMPARE(meets("n1", n0), QStringLiteral("open"));
        QVERIFY2(m_lab->drop("n1", "n0", 22), qPrintable(m_lab->error()));
        QCOMPARE(meets("n1", n0), QStringLiteral("silent"));
        QCOMPARE(meets("n1", n0, 2222), QStringLiteral("refused"));
        QCOMPARE(meets("n0", n1), QStringLiteral("open"));
        QCOMPARE(meets("n2", n0), QStringLiteral("open"));
        QVERIFY2(m_lab->drop("n2", "n0"), qPrintable(m_lab->error()));
        QCOMPARE(meets("n2", n0, 2222), QStringLiteral("silent"));
        QVERIFY(m_lab->heal("n1"));
        QCOMPARE(meets("n1", n0), QStringLiteral("open"));
        QCOMPARE(meets("n2", n0), QStringLiteral("silent"));
    }
    void rejectsByTheHostsOwnFirewall() {
        QVERIFY2(m_lab->reject("n1", "n0", 22), qPrintable(m_lab->error()));
        QCOMPARE(meets("n1", m_lab->dataAddress("n0")), QStringLiteral("refused"));
        QCOMPARE(meets("n2", m_lab->dataAddress("n0")), QStringLiteral("open"));
        QVERIFY(m_lab->heal());
        QCOMPARE(meets("n1", m_lab->dataAddress("n0")), QStringLiteral("open"));
    }
    void cutsAHostAndHealsIt() {
        // What is sent during the cut arrives afterwards: it looks as a network that was away.
        const auto counting = m_lab->startOnController(
            {"ssh", "n0", "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.25; done"});
        QTRY_VERIFY(counting->bytesAvailable() > 2);
        QVERIFY2(m_lab->cut("n0"), qPrintable(m_lab->error()));
        QCOMPARE(meets("n1", m_lab->dataAddress("n0")), QStringLiteral("silent"));
        QCOMPARE(meets("n0", m_lab->dataAddress("n1")), QStringLiteral("silent"));
        QCOMPARE(meets("n1", m_lab->dataAddress("n2")), QStringLiteral("open"));
        QVERIFY(ssh("n0", "true").exitCode != 0);
        QVERIFY(m_lab->heal());
        QVERIFY(counting->waitForFinished(30000));
        QCOMPARE(counting->readAllStandardOutput(), QByteArray("1\n2\n3\n4\n5\n6\n7\n8\n"));
        QCOMPARE(meets("n1", m_lab->dataAddress("n0")), QStringLiteral("open"));
    }
    void losesPacketsAtRandom() {
        QVERIFY2(m_lab->loss("n1", 5), qPrintable(m_lab->error()));
        // Datagrams to a port where nobody listens are counted by who gets them.
        const auto arrived = [this] {
            return m_lab->onHost("n0", {"awk", "/^Udp: [0-9]/ { print $3 }", "/proc/net/snmp"})
                .out.toInt();
        };
        const int before = arrived();
        const QString send = "for i in {1..3000}; do echo x >/dev/udp/%1/9; done";
        m_lab->onHost("n1", {"bash", "-c", send.arg(m_lab->dataAddress("n0"))});
        const int lost = 3000 - (arrived() - before);
        QVERIFY2(lost > 75 && lost < 225, qPrintable(QString::number(lost)));
    }
    void dropsOnlyLongPackets() {
        QVERIFY2(m_lab->narrow("n1", 1200), qPrintable(m_lab->error()));
        const QString n1 = m_lab->dataAddress("n1");
        QCOMPARE(meets("n0", n1), QStringLiteral("open"));
        // The writer may block for want of acknowledgements, so that it is not waited for.
        const QString send =
            "exec 3<>/dev/tcp/%1/22; timeout 2 head -c %2 /dev/zero >&3 & sleep 1; "
            "ss -tnO dst %1 | awk 'NR > 1 { print $3 }'; wait";
        // What the other side has not acknowledged stays in the queue.
        const Ended small = m_lab->onHost("n0", {"bash", "-c", send.arg(n1).arg(200)});
        const Ended large = m_lab->onHost("n0", {"bash", "-c", send.arg(n1).arg(60000)});
        QVERIFY2(large.out.trimmed().toInt() > 10000, large.out + large.err);
        QVERIFY2(small.out.trimmed().toInt() < 200, small.out + small.err);
    }

    void limitsRateWithinTwentyPercent() {
        QVERIFY(megabitsPerSecond() > 400);
        QVERIFY2(m_lab->rate("n1", "100mbit"), qPrintable(m_lab->error()));
        const double up = megabitsPerSecond();
        const double down = megabitsPerSecond({"-R"});
        QVERIFY2(up > 80 && up < 120, qPrintable(QString::number(up)));
        QVERIFY2(down > 80 && down < 120, qPrintable(QString::number(down)));
        QVERIFY(m_lab->heal());
        QVERIFY(megabitsPerSecond() > 400);
    }
    void delaysEachDirection() {
        QVERIFY(m_lab->enterNetwork());
        const double before = connectMilliseconds(m_lab->sshAddress("n0"), 22);
        QVERIFY2(m_lab->delay("n0", "20ms", "ssh"), qPrintable(m_lab->error()));
        const double during = connectMilliseconds(m_lab->sshAddress("n0"), 22);
        const double other = connectMilliseconds(m_lab->sshAddress("n1"), 22);
        QVERIFY(m_lab->heal());
        const double after = connectMilliseconds(m_lab->sshAddress("n0"), 22);
        QVERIFY(m_lab->leaveNetwork());
        QVERIFY2(before >= 0 && before < 5, qPrintable(QString::number(before)));
        QVERIFY2(during >= 40 && during < 50, qPrintable(QString::number(during)));
        QVERIFY2(other >= 0 && other < 5, qPrintable(QString::number(other)));
        QVERIFY2(after >= 0 && after < 5, qPrintable(QString::number(after)));
    }
    void carriesAGigabitWithDelay() {
        QVERIFY2(m_lab->delay("n1", "10ms"), qPrintable(m_lab->error()));
        QVERIFY2(m_lab->rate("n1", "1gbit"), qPrintable(m_lab->error()));
        const double rate = megabitsPerSecond({"-O", "1"});
        QVERIFY2(rate > 800 && rate < 1000, qPrintable(QString::number(rate)));
    }

    void rebootsAHost() {
        const QStringList look{
            "sh", "-c",
            "cat /proc/sys/kernel/random/boot_id; cat /etc/machine-id; ls /tmp /home/bash"};
        m_lab->onHost("n2", {"touch", "/tmp/goes", "/home/bash/stays"});
        const QList<QByteArray> before = m_lab->onHost("n2", look).out.split('\n');
        QVERIFY2(m_lab->reboot("n2"), qPrintable(m_lab->error()));
        const QList<QByteArray> after = m_lab->onHost("n2", look).out.split('\n');
        QVERIFY(before[0] != after[0]);
        QCOMPARE(before[1], after[1]);
        QVERIFY(before.contains("goes") && !after.contains("goes"));
        QVERIFY(after.contains("stays"));
        QCOMPARE(ssh("n2", "uname -n").out, QByteArray("n2\n"));
    }
    void stopsAnSshdAndStartsIt() {
        QVERIFY2(m_lab->stopSshd("n0"), qPrintable(m_lab->error()));
        QVERIFY(ssh("n0", "true").err.contains("Connection refused"));
        QVERIFY2(m_lab->startSshd("n0"), qPrintable(m_lab->error()));
        QCOMPARE(ssh("n0", "uname -n").out, QByteArray("n0\n"));
    }

    void goesWithItsOwner() {
        QProcess owner;
        owner.start("sleep", {"1000"});
        QVERIFY(owner.waitForStarted());
        const Ended up =
            runToEnd({script("up"), "--hosts", "2", "--owner", QString::number(owner.processId())},
                     {}, 60000);
        const QString folder = QString::fromUtf8(up.out).trimmed();
        QVERIFY2(QFile::exists(folder + "/ready"), up.err);
        owner.kill();
        owner.waitForFinished();
        QTRY_VERIFY_WITH_TIMEOUT(!QFile::exists(folder), 10000);
        QTRY_COMPARE_WITH_TIMEOUT(processesOf(folder), QStringList(), 5000);
    }
    void isReapedByTheNextUpWhereNothingElseWas() {
        QProcess owner;
        owner.start("sleep", {"1000"});
        QVERIFY(owner.waitForStarted());
        const Ended up =
            runToEnd({script("up"), "--hosts", "2", "--owner", QString::number(owner.processId())},
                     {}, 60000);
        const QString folder = QString::fromUtf8(up.out).trimmed();
        QFile file(folder + "/watcher");
        QVERIFY2(file.open(QIODevice::ReadOnly), up.err);
        const int watcher = file.readAll().split(' ').first().toInt();
        QVERIFY(watcher > 1);
        QCOMPARE(kill(-watcher, SIGKILL), 0);
        owner.kill();
        owner.waitForFinished();
        QVERIFY(!processesOf(folder).isEmpty());

        {
            const Lab next(Lab::manyHosts(1));
            QVERIFY2(next.isUp(), qPrintable(next.error()));
            QVERIFY(!QFile::exists(folder));
            QCOMPARE(processesOf(folder), QStringList());
            // A lab with a living owner stays.
            QVERIFY(QFile::exists(m_lab->path("ready")));
            QCOMPARE(ssh("n0", "uname -n").out, QByteArray("n0\n"));
        }
    }
    void startsManyHostsInTime() {
        QElapsedTimer timer = started();
        Lab six(QStringList{"gw jump", "n0", "n1 shell=fish noisy", "n2 root=bullseye",
                            "n3 port=2222", "n4 via=gw"});
        QVERIFY2(six.isUp(), qPrintable(six.error()));
        QVERIFY2(timer.elapsed() < 5000, qPrintable(QString::number(timer.elapsed())));
        timer.restart();
        Lab many(Lab::manyHostsBehindGw(32));
        QVERIFY2(many.isUp(), qPrintable(many.error()));
        QVERIFY2(timer.elapsed() < 20000, qPrintable(QString::number(timer.elapsed())));
        QCOMPARE(many.onController({"ssh", "n31", "uname -n"}).out, QByteArray("n31\n"));
        QVERIFY(many.log("gw").contains("Accepted publickey for bash"));
        QCOMPARE(many.mostHandshakesAtOnce("gw"), 1);
        // How many depends on how fast the clients start; sshd lets 10 wait before it drops some.
        const QString all = "for i in $(seq 0 31); do ssh n$i true & done; wait";
        many.onController({"bash", "-c", all});
        QVERIFY2(many.mostHandshakesAtOnce("gw") >= 4, qPrintable(many.log("gw")));
    }
    void changesNothingOutsideAndLeavesNothing() {
        QString folder;
        {
            Lab lab(Lab::manyHosts(2));
            QVERIFY2(lab.isUp() && lab.rate("n0", "10mbit") && lab.delay("n1", "1ms"),
                     qPrintable(lab.error()));
            folder = lab.path({}).chopped(1);
            QVERIFY(!processesOf(folder).isEmpty());
            QCOMPARE(QString::fromUtf8(machine()), QString::fromUtf8(m_machine));
        }
        QCOMPARE(processesOf(folder), QStringList());
        QVERIFY(!QFile::exists(folder));
        QCOMPARE(QString::fromUtf8(machine()), QString::fromUtf8(m_machine));
    }
};

QTEST_GUILESS_MAIN(TestLab)
#include "tst_lab.moc"
