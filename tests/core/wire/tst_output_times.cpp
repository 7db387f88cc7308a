// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/wire/output_times.h"

#include <QTest>

using namespace lockstep::wire;

class TstOutputTimes : public QObject {
    Q_OBJECT

    static constexpr double kBegin = 1796124090.25;

private Q_SLOTS:
    void givesEachByteTheTimeOfItsGrowth() {
        OutputTimesWriter writer;
        std::string text = writer.grown(10, kBegin);
        QCOMPARE(writer.grown(10, kBegin + 1), std::string());
        text += writer.grown(25, kBegin + 1.5);
        QCOMPARE(text, std::string("10 1796124090250\n15 1500\n"));
        OutputTimes times;
        for (const char c : text)
            times.add({&c, 1});
        QCOMPARE(times.known(), 25);
        QCOMPARE(*times.at(1), kBegin);
        QCOMPARE(*times.at(10), kBegin);
        QCOMPARE(*times.at(11), kBegin + 1.5);
        QVERIFY(!times.at(26));
    }

    void takesAClockThatIsSetBack() {
        OutputTimesWriter writer;
        OutputTimes times;
        times.add(writer.grown(1, kBegin) + writer.grown(2, kBegin - 60));
        QCOMPARE(*times.at(2), kBegin - 60);
    }

    void believesNothingBehindABrokenLine_data() {
        QTest::addColumn<QByteArray>("line");
        for (const char* line : {"", "5", "5 x", "x 5", "-5 5", "0 5", "5 5 5", "5  5"})
            QTest::addRow("%s", line) << QByteArray(line);
    }
    void believesNothingBehindABrokenLine() {
        QFETCH(QByteArray, line);
        OutputTimes times;
        times.add("10 1000\n" + line.toStdString() + "\n5 5\n");
        QCOMPARE(times.known(), 10);
        QVERIFY(!times.at(11));
        QCOMPARE(*times.at(10), 1.0);
    }
};

QTEST_APPLESS_MAIN(TstOutputTimes)
#include "tst_output_times.moc"
