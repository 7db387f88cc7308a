// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/models/format.h"

#include <QTest>

#include <ctime>
#include <limits>

using namespace lockstep::ui;

class FormatTest : public QObject {
    Q_OBJECT
    static QString plain(QString text) { return text.replace(QChar(0x202F), QLatin1Char(' ')); }
private Q_SLOTS:
    void printsSizesInBinaryUnits() {
        QCOMPARE(plain(formatBytes(512)), QStringLiteral("512 B"));
        QCOMPARE(plain(formatBytes(1536)), QStringLiteral("1.50 KiB"));
        QCOMPARE(plain(formatBytes(68904)), QStringLiteral("67.3 KiB"));
        QCOMPARE(plain(formatBytes(1023.9 * 1024)), QStringLiteral("1.00 MiB"));
    }
    void printsDurationsInTheTwoLargestUnits() {
        QCOMPARE(plain(formatDuration(0.48)), QStringLiteral("480 ms"));
        QCOMPARE(plain(formatDuration(2.44)), QStringLiteral("2.4 s"));
        QCOMPARE(plain(formatDuration(134)), QStringLiteral("2 m 14 s"));
        QCOMPARE(plain(formatDuration(59.96)), QStringLiteral("1 m 00 s"));
        QCOMPARE(plain(formatDuration(11100)), QStringLiteral("3 h 05 m"));
        QCOMPARE(plain(formatDuration(187200)), QStringLiteral("2 d 4 h"));
    }
    void saysWhatIsNotFinite() {
        QCOMPARE(formatValue(std::numeric_limits<double>::quiet_NaN()), QStringLiteral("NaN"));
        QCOMPARE(formatValue(std::numeric_limits<double>::infinity()), QStringLiteral("∞"));
        QCOMPARE(formatValue(0.21312), QStringLiteral("0.2131"));
    }
    // L3: the clocks there went from 01:59:59 to 03:00:00
    void showsLocalTimesOnADayWithAChangeOfTheClock() {
        const QByteArray zone = qgetenv("TZ");
        qputenv("TZ", "America/New_York");
        tzset();
        const double change = 1'772'953'200; // 2026-03-08T07:00:00Z
        QCOMPARE(formatClock(change - 1), QStringLiteral("01:59:59"));
        QCOMPARE(formatClock(change), QStringLiteral("03:00:00"));
        zone.isNull() ? qunsetenv("TZ") : qputenv("TZ", zone);
        tzset();
    }
    void groupsThousands() {
        QCOMPARE(formatCount(12480), QStringLiteral("12,480"));
        QCOMPARE(formatRate(12480.2), QStringLiteral("12,480"));
    }
    void showsMomentsRelativeUnderAnHour() {
        QCOMPARE(formatMoment(1000, 1010), QStringLiteral("just now"));
        QCOMPARE(plain(formatMoment(1000, 1240)), QStringLiteral("4 min ago"));
        QVERIFY(formatMoment(1000, 5000).contains(QLatin1Char(':')));
    }
    void makesControlCharactersVisible() {
        QCOMPARE(plainText(QStringLiteral("a\x1b[31mb")), QStringLiteral("a\u241b[31mb"));
        QCOMPARE(plainText(QStringLiteral("a\u202eb")), QStringLiteral("ab"));
    }
    void boundsLengthsWithoutCuttingACharacterInHalf() {
        const QString face = QString::fromUcs4(U"\U0001F600");
        const QString text = plainText(QStringLiteral("abc") + face + QStringLiteral("d"), 4);
        QCOMPARE(text, QStringLiteral("abc…"));
    }
};

QTEST_GUILESS_MAIN(FormatTest)
#include "tst_format.moc"
