// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/philox.h"

#include <QtTest>

#include <set>
#include <vector>

using namespace lockstep;

class TestPhilox : public QObject {
    Q_OBJECT

private Q_SLOTS:
    // philox4x32 with 10 rounds, from kat_vectors of Random123 1.14.
    void agreesWithTheKnownAnswers() {
        QVERIFY(philox(0, {0, 0, 0, 0}) ==
                (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
        QVERIFY(philox(0xffffffffffffffff, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}) ==
                (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
        QVERIFY(philox(0x299f31d0a4093822, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}) ==
                (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
    }

    void readsBlocksInOrder() {
        PhiloxStream stream(7, RandomUse::Shuffle, 3);
        for (std::uint32_t block = 0; block < 3; ++block)
            for (const std::uint32_t word : philox(7, {block, 0, 3, 3}))
                QCOMPARE(stream.next32(), word);
    }

    void keepsStreamsApart() {
        std::set<std::uint64_t> firsts;
        for (const std::uint64_t seed : {1u, 2u})
            for (const RandomUse use : {RandomUse::Initializer, RandomUse::Dropout})
                for (const std::uint32_t stream : {0u, 1u})
                    firsts.insert(PhiloxStream(seed, use, stream).next64());
        QCOMPARE(firsts.size(), std::size_t{8});
    }

    void drawsUnitsEvenly() {
        PhiloxStream stream(1, RandomUse::RandomSource);
        constexpr int kDraws = 100000;
        double sum = 0;
        double squares = 0;
        for (int i = 0; i < kDraws; ++i) {
            const double unit = stream.nextUnit();
            QVERIFY(unit >= 0 && unit < 1);
            sum += unit;
            squares += unit * unit;
        }
        // Five standard errors: 5 · 0.289/√n and 5 · 0.298/√n.
        QVERIFY(std::abs(sum / kDraws - 0.5) < 0.0046);
        QVERIFY(std::abs(squares / kDraws - 1.0 / 3.0) < 0.0048);
    }

    void drawsEveryNumberBelowTheBound() {
        PhiloxStream stream(1, RandomUse::Shuffle);
        std::vector<int> counts(10);
        for (int i = 0; i < 100000; ++i)
            ++counts.at(stream.nextBelow(10)); // at() throws beyond the bound
        for (const int count : counts)
            QVERIFY(std::abs(count - 10000) < 500); // five standard deviations
        QCOMPARE(stream.nextBelow(1), std::uint64_t{0});
        QVERIFY(stream.nextBelow(~std::uint64_t{0}) < ~std::uint64_t{0});
    }
};

QTEST_APPLESS_MAIN(TestPhilox)
#include "tst_philox.moc"
