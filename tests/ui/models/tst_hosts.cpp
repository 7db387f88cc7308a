// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/cluster/host_list.h"
#include "tests/ui/support/made_up_ssh.h"
#include "ui/models/connection_test.h"
#include "ui/models/key_install.h"
#include "ui/models/new_workers_model.h"

#include <QAbstractItemModelTester>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

using namespace lockstep;
using namespace lockstep::ui;
using Source = NewWorkersModel::Source;

namespace {

ssh::Destination to(const QString& text) {
    auto destination = ssh::parseDestination(text);
    return destination.ok() ? *destination : ssh::Destination{};
}

QString factNamed(const QList<HostFact>& facts, const QString& name) {
    for (const auto& fact : facts)
        if (fact.name == name)
            return fact.value;
    return {};
}

QByteArray contents(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

void put(const QString& path, const QByteArray& bytes) {
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(bytes);
}

QString address(const NewWorkersModel& model, int row) {
    return model.index(row, NewWorkersModel::Address).data().toString();
}

} // namespace

class HostsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void saysWhatAHostIs() {
        QTemporaryDir home;
        MadeUpHost host;
        host.home = home.path();
        ConnectionTest test(madeUpAccess(&host));
        QList<ConnectionTest::State> states;
        connect(&test, &ConnectionTest::changed, this, [&] { states.append(test.state()); });
        test.start(to(QStringLiteral("n1")));
        QTRY_VERIFY(!test.isRunning());
        QVERIFY2(test.state() == ConnectionTest::State::Passed, qPrintable(test.words()));
        QCOMPARE(states.front(), ConnectionTest::State::Resolving);
        QVERIFY(states.contains(ConnectionTest::State::LoggingIn));
        QCOMPARE(factNamed(test.resolved(), QStringLiteral("Connects to")),
                 QStringLiteral("n1.lab.example"));
        QCOMPARE(factNamed(test.resolved(), QStringLiteral("By way of")),
                 QStringLiteral("gateway"));
        QVERIFY(!factNamed(test.facts(), QStringLiteral("Architecture")).isEmpty());
        QVERIFY(factNamed(test.facts(), QStringLiteral("Cores")).toInt() > 0);
        QVERIFY(factNamed(test.facts(), QStringLiteral("Memory")).contains(QStringLiteral("iB")));
        QCOMPARE(test.banners().size(), 1);
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
        QCOMPARE(host.alive, 0);
    }

    void readsFactsBehindNoisyStartUpFiles() {
        const auto facts = readHostFacts("welcome\nname=wrong\nlockstep-facts-begin\nname=n1\n"
                                         "memory=1048576\nlibc=\nnonsense\ngpu=A\x1b[31m\ngpu=B\n"
                                         "lockstep-facts-end\nbye\n");
        QVERIFY(facts.has_value());
        QCOMPARE(factNamed(*facts, QStringLiteral("Host name")), QStringLiteral("n1"));
        QVERIFY(factNamed(*facts, QStringLiteral("C library")).isEmpty());
        QCOMPARE(facts->size(), 4);
        QVERIFY(!factNamed(*facts, QStringLiteral("GPU")).contains(QChar(0x1b)));
        QVERIFY(!readHostFacts("This account is not available.\n").has_value());
    }

    void saysWhenAnAccountHasNoShell() {
        MadeUpHost host;
        host.home = QStringLiteral("/");
        host.shell = QStringLiteral("/bin/true");
        ConnectionTest test(madeUpAccess(&host));
        test.start(to(QStringLiteral("n1")));
        QTRY_VERIFY(!test.isRunning());
        QCOMPARE(test.state(), ConnectionTest::State::Failed);
        QVERIFY(test.words().contains(QStringLiteral("no shell")));
    }

    void cancelsWithinASecondAndLeavesNothingOpen() {
        MadeUpHost host;
        host.neverAnswers = true;
        ConnectionTest test(madeUpAccess(&host));
        test.start(to(QStringLiteral("n1")));
        QTRY_COMPARE(test.state(), ConnectionTest::State::Connecting);
        QTRY_COMPARE(host.opened, 1);
        test.cancel();
        QCOMPARE(test.state(), ConnectionTest::State::Cancelled);
        QCOMPARE(host.alive, 0);
        host.neverAnswers = false;
        host.refuse = Error{Code::Unreachable, "Nobody is there.", "n1"};
        test.start(to(QStringLiteral("n1")));
        QTRY_COMPARE(test.state(), ConnectionTest::State::Failed);
        QCOMPARE(test.words(), QStringLiteral("Nobody is there."));
    }

    void installsAKeyOnceAndKeepsOtherLines() {
        QTemporaryDir home;
        QTemporaryDir here;
        QVERIFY(QDir(home.path()).mkdir(QStringLiteral(".ssh")));
        const QString file = home.filePath(QStringLiteral(".ssh/authorized_keys"));
        put(file, "ssh-rsa AAAA other"); // without an end of line
        put(here.filePath(QStringLiteral("id_ed25519.pub")),
            "ssh-ed25519 AAAAC3 it's $HOME \"q\" \\ `x` alice@here\n");
        MadeUpHost host;
        host.home = home.path();
        KeyInstall install(madeUpAccess(&host), here.path());
        for (int i = 0; i < 2; ++i) {
            install.start(to(QStringLiteral("alice@n1")));
            QTRY_VERIFY(!install.isRunning());
            QVERIFY2(install.state() == KeyInstall::State::Done, qPrintable(install.words()));
            QCOMPARE(contents(file),
                     QByteArray("ssh-rsa AAAA other\nssh-ed25519 AAAAC3 it's $HOME \"q\" \\ `x` "
                                "alice@here\n"));
        }
        QVERIFY(install.words().contains(QStringLiteral("already")));
    }

    void makesAKeyWhereThereIsNone() {
        QTemporaryDir home;
        QTemporaryDir here;
        MadeUpHost host;
        host.home = home.path();
        KeyInstall install(madeUpAccess(&host), here.filePath(QStringLiteral(".ssh")));
        install.start(to(QStringLiteral("alice@n1")));
        QTRY_VERIFY_WITH_TIMEOUT(!install.isRunning(), 20000);
        QVERIFY2(install.state() == KeyInstall::State::Done, qPrintable(install.words()));
        const QByteArray key = contents(here.filePath(QStringLiteral(".ssh/id_ed25519.pub")));
        QVERIFY(key.startsWith("ssh-ed25519 "));
        QCOMPARE(contents(home.filePath(QStringLiteral(".ssh/authorized_keys"))), key);
        const auto mode = QFile::permissions(home.filePath(QStringLiteral(".ssh/authorized_keys")));
        QVERIFY(!(mode & (QFile::ReadGroup | QFile::ReadOther | QFile::WriteGroup)));
    }

    void proposesFreePortsOnTheHost() {
        auto spec = cluster::localCluster(0, 2222);
        cluster::Worker there;
        there.ssh = json::Value("n1");
        there.address = "n1.lab.example:2222";
        spec.add(there);
        NewWorkersModel model(spec);
        const QAbstractItemModelTester tester(
            &model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.add(Source::Typed, QStringLiteral("n1"), to(QStringLiteral("n1")));
        QCOMPARE(address(model, 0), QStringLiteral("n1:2222"));
        model.setHost(QStringLiteral("n1"), QStringLiteral("n1.lab.example"));
        QCOMPARE(address(model, 0), QStringLiteral("n1.lab.example:2223"));
        model.add(Source::Config, QStringLiteral("alice@fd00::2"),
                  to(QStringLiteral("alice@fd00::2")));
        QCOMPARE(address(model, 1), QStringLiteral("[fd00::2]:2222"));
        QVERIFY(model.setData(model.index(0, NewWorkersModel::Address),
                              QStringLiteral("10.0.0.7:4000"), Qt::EditRole));
        model.setHost(QStringLiteral("n1"), QStringLiteral("other"));
        QCOMPARE(address(model, 0), QStringLiteral("10.0.0.7:4000"));
        QVERIFY(model.setData(model.index(1, NewWorkersModel::Address),
                              QStringLiteral("N1.lab.example:2222"), Qt::EditRole));
        QCOMPARE(model.problems(), 1);
        QVERIFY(model.setData(model.index(1, NewWorkersModel::Address), QStringLiteral("n1"),
                              Qt::EditRole));
        QCOMPARE(model.problems(), 1);
        model.removeSsh(Source::Config, QStringLiteral("alice@fd00::2"));
        QCOMPARE(model.rowCount(), 1);
    }

    void writesAListThatItReadsBack() {
        auto spec = cluster::localCluster(1, 2222);
        for (const auto& [ssh, address] :
             {std::pair("alice@10.0.0.1", "10.0.0.1:2222"), std::pair("10.0.0.2", "10.0.0.2:2223"),
              std::pair("bob@fd00::2", "[fd00::2]:2224")}) {
            cluster::Worker worker;
            worker.ssh = json::Value(ssh);
            worker.address = address;
            spec.add(worker);
        }
        const auto list =
            cluster::readHostList(hostListOf(spec).toStdString(), cluster::HostNumber::Port);
        QCOMPARE(list.problems.size(), std::size_t{0});
        QCOMPARE(list.workers.size(), spec.size());
        for (std::size_t i = 0; i < spec.size(); ++i) {
            QCOMPARE(list.workers[i].address, spec.workers()[i].address);
            QCOMPARE(list.workers[i].sshText(), spec.workers()[i].sshText());
        }
    }
};

QTEST_GUILESS_MAIN(HostsTest)
#include "tst_hosts.moc"
