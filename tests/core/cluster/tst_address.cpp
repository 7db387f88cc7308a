// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/cluster/address.h"

#include <QTest>

using namespace lockstep;
using namespace lockstep::cluster;

class AddressTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void readsAndPrintsTheSameBytes_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("host");
        QTest::addColumn<QString>("zone");
        QTest::addColumn<int>("port");
        const auto row = [](const char* text, const char* host, const char* zone, int port) {
            QTest::newRow(text) << text << host << zone << port;
        };
        row("n0:2222", "n0", "", 2222);
        row("N0.Lab.:1", "N0.Lab.", "", 1);
        row("under_score-1:65535", "under_score-1", "", 65535);
        row("10.0.0.1:2222", "10.0.0.1", "", 2222);
        row("[fd00::1]:2222", "fd00::1", "", 2222);
        row("[FD00:0::1]:2222", "FD00:0::1", "", 2222);
        row("[fe80::1%eth0]:2222", "fe80::1", "eth0", 2222);
        row("[::ffff:10.0.0.1]:80", "::ffff:10.0.0.1", "", 80);
        row("[::1]:2222", "::1", "", 2222);
    }
    void readsAndPrintsTheSameBytes() {
        QFETCH(QString, text);
        const auto address = Address::parse(text.toStdString());
        QVERIFY2(address.ok(), address.ok() ? "" : address.error().message.c_str());
        QTEST(QString::fromStdString(address->host), "host");
        QTEST(QString::fromStdString(address->zone), "zone");
        QTEST(address->port, "port");
        QCOMPARE(QString::fromStdString(address->text()), text);
    }

    void saysWhyATextIsNoAddress_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("says");
        QTest::addColumn<int>("at");
        const auto row = [](const char* text, const char* says, int at) {
            QTest::newRow(*text ? text : "empty") << text << says << at;
        };
        row("", "empty", 0);
        row("a", "no port", 1);
        row("2222", "no port", 4);
        row("a:", "no port", 2);
        row(":2222", "no host", 0);
        row("http://a:1", "URL", 0);
        row("a/b:1", "\"/\"", 0);
        row("a:0", "cannot be dialled", 2);
        row("localhost:0000", "cannot be dialled", 10);
        row("a:01", "leading zeros", 2);
        row("a:65536", "out of range", 2);
        row("a:99999999999999999999", "out of range", 2);
        row("a:-1", "no number", 2);
        row("a:+1", "no number", 2);
        row("a:0x10", "no number", 2);
        row("a :1", "blank", 1);
        row("a:1\n", "blank", 3);
        row("a:1:2", "more than one colon", 1);
        row("fd00::1:2222", "ambiguous", 4);
        row("::1", "ambiguous", 0);
        row("[fd00::1]", "no port", 9);
        row("[fd00::1", "does not close", 8);
        row("[fd00::1]2222", "other than", 9);
        row("[10.0.0.1]:1", "no IPv6", 1);
        row("[fd00::g]:1", "no IPv6", 1);
        row("[fe80::1]:1", "link-local", 1);
        row("[fe80::1%]:1", "interface", 8);
        row("10.0.0.256:1", "IPv4", 0);
        row("10.0.0:1", "IPv4", 0);
        row("010.0.0.1:1", "IPv4", 0);
        row("a..b:1", "empty part", 0);
        row("-a:1", "\"-\"", 0);
        row("näme:1", "character", 0);
    }
    void saysWhyATextIsNoAddress() {
        QFETCH(QString, text);
        QFETCH(QString, says);
        QFETCH(int, at);
        const auto read = readAddress(text.toStdString());
        const auto* fault = std::get_if<AddressFault>(&read);
        QVERIFY(fault);
        QVERIFY2(fault->message.find(says.toStdString()) != std::string::npos,
                 fault->message.c_str());
        QCOMPARE(static_cast<int>(fault->at), at);
        QVERIFY(!fault->expected.empty());
    }

    void asksWhatAnAmbiguousIpv6Means() {
        const auto error = Address::parse("fd00::1:2222").error();
        QVERIFY(error.message.find("[fd00::1]:2222") != std::string::npos);
        QVERIFY(error.message.find("[fd00::1:2222]:PORT") != std::string::npos);
    }

    void knowsAMachinesOwnAddresses() {
        const auto isLoopback = [](const char* text) {
            return Address::parse(text).value().isLoopback();
        };
        for (const char* text :
             {"localhost:1", "LOCALHOST:1", "localhost.:1", "127.0.0.1:1", "127.255.0.9:1",
              "[::1]:1", "[0:0::1]:1", "[::ffff:127.0.0.1]:1", "ip6-localhost:1", "a.localhost:1"})
            QVERIFY2(isLoopback(text), text);
        for (const char* text : {"128.0.0.1:1", "localhost1:1", "[::2]:1", "n0:1", "0.0.0.0:1"})
            QVERIFY2(!isLoopback(text), text);
        QVERIFY(Address::parse("0.0.0.0:1")->isWildcard());
        QVERIFY(Address::parse("[::]:1")->isWildcard());
    }

    void comparesHostsBySpelling() {
        QCOMPARE(hostKeyOf("N1.Lan."), hostKeyOf("n1.lan"));
        QCOMPARE(hostKeyOf("FD00:0:0::1"), std::string("fd00::1"));
        QCOMPARE(hostKeyOf("::ffff:10.0.0.5"), std::string("10.0.0.5"));
        QVERIFY(Address::parse("[fe80::1%eth0]:1")->hostKey() !=
                Address::parse("[fe80::1%eth1]:1")->hostKey());
    }
};

QTEST_APPLESS_MAIN(AddressTest)
#include "tst_address.moc"
