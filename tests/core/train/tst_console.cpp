// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/train/console.h"
#include "core/train/cores.h"

#include <QTest>

#include <cmath>

using namespace lockstep::train;

class TestConsole : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void writesEpochsAsKerasDoes() {
        QCOMPARE(epochHeader(2, 5), std::string("Epoch 2/5"));
        QCOMPARE(epochLine(45, 0.81, {{"loss", 0.0005}, {"accuracy", 0.5}}),
                 std::string("45/45 - 1s - 18ms/step - accuracy: 0.5000 - loss: 5.0000e-04"));
        QCOMPARE(epochLine(2, 75.2, {{"loss", NAN}}),
                 std::string("2/2 - 75s - 38s/step - loss: nan"));
        QCOMPARE(epochLine(1000, 0.2, {{"loss", -1.5}, {"val_loss", INFINITY}}),
                 std::string("1000/1000 - 0s - 200us/step - loss: -1.5000e+00 - val_loss: inf"));
    }

    void sharesCoresButGivesEachWorkerOne() {
        QVERIFY(usableCores() >= 1);
        QCOMPARE(shareOfCores(8, 3), 2);
        QCOMPARE(shareOfCores(2, 4), 1);
    }
};

QTEST_APPLESS_MAIN(TestConsole)
#include "tst_console.moc"
