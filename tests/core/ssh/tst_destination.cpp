// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/ssh/destination.h"

#include <QTest>

using namespace lockstep;
using namespace lockstep::ssh;

class TestDestination : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void readsWhatSshTakes_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("user");
        QTest::addColumn<QString>("host");
        QTest::addColumn<int>("port");
        QTest::newRow("alias") << "n0"
                               << ""
                               << "n0" << 0;
        QTest::newRow("user") << "alice@n0"
                              << "alice"
                              << "n0" << 0;
        QTest::newRow("user with @") << "a@b@n0"
                                     << "a@b"
                                     << "n0" << 0;
        QTest::newRow("uri") << "ssh://alice@n0:2222"
                             << "alice"
                             << "n0" << 2222;
        QTest::newRow("uri with slash") << "ssh://n0/"
                                        << ""
                                        << "n0" << 0;
        QTest::newRow("IPv6") << "alice@fd00::2"
                              << "alice"
                              << "fd00::2" << 0;
        QTest::newRow("IPv6 with port") << "ssh://[fd00::2]:2022"
                                        << ""
                                        << "fd00::2" << 2022;
        QTest::newRow("zone") << "fe80::1%eth0"
                              << ""
                              << "fe80::1%eth0" << 0;
    }
    void readsWhatSshTakes() {
        QFETCH(QString, text);
        const auto destination = parseDestination(text);
        QVERIFY2(destination.ok(), qPrintable(text));
        QTEST(destination->user, "user");
        QTEST(destination->host, "host");
        QTEST(destination->port, "port");
    }

    void refusesWhatIsNone_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("says");
        QTest::newRow("empty") << ""
                               << "host is missing";
        QTest::newRow("no user") << "@n0"
                                 << "user before @";
        QTest::newRow("no host") << "alice@"
                                 << "host is missing";
        QTest::newRow("option") << "-oProxyCommand=rm"
                                << "start with";
        QTest::newRow("option as user") << "-x@n0"
                                        << "start with";
        QTest::newRow("space") << "n0 n1"
                               << "space";
        QTest::newRow("line") << "n0\n"
                              << "space";
        QTest::newRow("port") << "ssh://n0:0"
                              << "1 to 65535";
        QTest::newRow("large port") << "ssh://n0:65536"
                                    << "1 to 65535";
        QTest::newRow("bracket") << "ssh://[fd00::2:22"
                                 << "] of the IPv6";
        QTest::newRow("IPv6 in a URI") << "ssh://fd00::2"
                                       << "brackets";
    }
    void refusesWhatIsNone() {
        QFETCH(QString, text);
        QFETCH(QString, says);
        const auto destination = parseDestination(text);
        QVERIFY(!destination.ok());
        QCOMPARE(destination.error().code, Code::InvalidArgument);
        QVERIFY2(QString::fromStdString(destination.error().message).contains(says),
                 destination.error().message.c_str());
    }

    void printsWhatItRead() {
        for (const char* text : {"n0", "alice@n0", "alice@fd00::2"})
            QCOMPARE(parseDestination(QString::fromLatin1(text))->text(),
                     QString::fromLatin1(text));
        QCOMPARE(parseDestination(QStringLiteral("ssh://[fd00::2]:2022"))->text(),
                 QStringLiteral("[fd00::2]:2022"));
    }
};

QTEST_APPLESS_MAIN(TestDestination)
#include "tst_destination.moc"
