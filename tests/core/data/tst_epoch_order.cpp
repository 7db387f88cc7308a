// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/data/epoch_order.h"

#include <QTest>

#include <algorithm>
#include <numeric>

using lockstep::data::EpochOrder;
using Rows = std::vector<std::int64_t>;

namespace {

Rows orderOf(std::int64_t rows, std::int64_t buffer, std::uint64_t seed, int epoch,
             int reader = 0) {
    EpochOrder order(rows, buffer, seed);
    order.start(epoch, reader);
    Rows all;
    for (std::int64_t i = 0; i < rows; ++i)
        all.push_back(order.next());
    return all;
}

Rows counted(std::int64_t rows) {
    Rows all(static_cast<std::size_t>(rows));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

Rows sorted(Rows rows) {
    std::sort(rows.begin(), rows.end());
    return rows;
}

} // namespace

class TestEpochOrder : public QObject {
    Q_OBJECT

private slots:
    void keepsTheOrderWithoutABuffer() {
        QCOMPARE(orderOf(100, 0, 1, 1), counted(100));
        QCOMPARE(orderOf(100, 1, 1, 2), counted(100));
    }

    void givesEveryRowOnce() {
        for (const std::int64_t buffer : {2, 7, 99, 100, 1000})
            QCOMPARE(sorted(orderOf(100, buffer, 5, 3)), counted(100));
        QVERIFY(orderOf(0, 10, 1, 1).empty());
    }

    void bringsNoRowEarlierThanTheBufferAllows() {
        const Rows order = orderOf(1000, 10, 5, 1);
        QVERIFY(order != counted(1000));
        for (std::size_t i = 0; i < order.size(); ++i)
            QVERIFY(order[i] < static_cast<std::int64_t>(i) + 10);
    }

    void isAFunctionOfSeedEpochAndReader() {
        const Rows order = orderOf(100, 100, 7, 2);
        QCOMPARE(orderOf(100, 1000000, 7, 2), order);
        QVERIFY(orderOf(100, 100, 7, 3) != order);
        QVERIFY(orderOf(100, 100, 8, 2) != order);
        QVERIFY(orderOf(100, 100, 7, 2, 1) != order);
        QVERIFY(orderOf(100, 100, 7, 2, 1) != orderOf(100, 100, 7, 2, 2));
    }

    /// The order is part of what a saved run means: it must never change.
    void staysAsItIs() {
        QCOMPARE(orderOf(8, 8, 1, 1), (Rows{4, 5, 3, 6, 0, 1, 7, 2}));
        QCOMPARE(orderOf(8, 3, 1, 1), (Rows{1, 2, 3, 5, 0, 6, 7, 4}));
    }

    void permutesUniformly() {
        // Where row 0 goes, over 4,000 epochs of 8 rows: 500 a place; 5 sigma is 105.
        std::vector<int> counts(8);
        for (int epoch = 1; epoch <= 4000; ++epoch) {
            const Rows order = orderOf(8, 8, 3, epoch);
            const auto place = std::find(order.begin(), order.end(), 0) - order.begin();
            ++counts[static_cast<std::size_t>(place)];
        }
        for (const int count : counts)
            QVERIFY(std::abs(count - 500) < 105);
    }

    void startsAgainAndSkips() {
        EpochOrder order(50, 20, 9);
        order.start(4);
        order.skip(13);
        const Rows whole = orderOf(50, 20, 9, 4);
        for (std::size_t i = 13; i < 30; ++i)
            QCOMPARE(order.next(), whole[i]);
        order.start(4);
        QCOMPARE(order.next(), whole[0]);
    }
};

QTEST_APPLESS_MAIN(TestEpochOrder)
#include "tst_epoch_order.moc"
