// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/hash.h"

#include <QtTest>

using namespace lockstep;

class TestHash : public QObject {
    Q_OBJECT

private Q_SLOTS:
    // Vectors of FIPS 180-4 (examples published by NIST).
    void agreesWithThePublishedVectors_data() {
        QTest::addColumn<QByteArray>("message");
        QTest::addColumn<QString>("digest");
        QTest::newRow("nothing")
            << QByteArray() << "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        QTest::newRow("abc") << QByteArray("abc")
                             << "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        QTest::newRow("two blocks")
            << QByteArray("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")
            << "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1";
        QTest::newRow("a million a")
            << QByteArray(1000000, 'a')
            << "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
    }
    void agreesWithThePublishedVectors() {
        QFETCH(QByteArray, message);
        QFETCH(QString, digest);
        QCOMPARE(QString::fromStdString(toHex(sha256(message.toStdString()))), digest);
    }

    void doesNotDependOnThePieces() {
        const std::string text = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        const Sha256 whole = sha256(text);
        for (std::size_t cut = 0; cut <= text.size(); ++cut) {
            Sha256Stream stream;
            stream.add(std::string_view(text).substr(0, cut));
            stream.add(std::string_view(text).substr(cut));
            QVERIFY(stream.finish() == whole);
        }
    }

    void writesHexInLowerCase() {
        const std::array<std::uint8_t, 3> bytes{0x00, 0x9F, 0xFA};
        QCOMPARE(toHex(bytes), "009ffa");
        QCOMPARE(toHex({}), "");
    }

    void givesFreshRandomHex() {
        const std::string first = randomHex(32);
        QCOMPARE(first.size(), std::size_t{64});
        QCOMPARE(first.find_first_not_of("0123456789abcdef"), std::string::npos);
        QVERIFY(first != randomHex(32));
    }
};

QTEST_APPLESS_MAIN(TestHash)
#include "tst_hash.moc"
