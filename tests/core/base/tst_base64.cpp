// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/base64.h"

#include <QtTest>

using namespace lockstep;

class TestBase64 : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void givesTheVectorsOfRfc4648_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("empty") << QByteArray("") << QByteArray("");
        QTest::newRow("f") << QByteArray("f") << QByteArray("Zg==");
        QTest::newRow("fo") << QByteArray("fo") << QByteArray("Zm8=");
        QTest::newRow("foo") << QByteArray("foo") << QByteArray("Zm9v");
        QTest::newRow("foobar") << QByteArray("foobar") << QByteArray("Zm9vYmFy");
    }
    void givesTheVectorsOfRfc4648() {
        QFETCH(QByteArray, bytes);
        QFETCH(QByteArray, text);
        QCOMPARE(QByteArray::fromStdString(toBase64(bytes.toStdString())), text);
        QCOMPARE(QByteArray::fromStdString(*fromBase64(text.toStdString())), bytes);
    }

    void keepsAllBytesAtAllLengths() {
        std::string bytes;
        for (int i = 0; i < 300; ++i) {
            QCOMPARE(*fromBase64(toBase64(bytes)), bytes);
            bytes += static_cast<char>(i * 37);
        }
    }

    void refusesWhatIsNotBase64_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("cut short") << QByteArray("Zm9");
        QTest::newRow("other character") << QByteArray("Zm9*");
        QTest::newRow("padding inside") << QByteArray("Zg==Zg==");
        QTest::newRow("three paddings") << QByteArray("Z===");
        QTest::newRow("bits under the padding") << QByteArray("Zh==");
        QTest::newRow("line end") << QByteArray("Zm9v\n");
    }
    void refusesWhatIsNotBase64() {
        QFETCH(QByteArray, text);
        const auto bytes = fromBase64(text.toStdString());
        QVERIFY(!bytes);
        QCOMPARE(bytes.error().code, Code::Corrupt);
    }
};

QTEST_APPLESS_MAIN(TestBase64)
#include "tst_base64.moc"
