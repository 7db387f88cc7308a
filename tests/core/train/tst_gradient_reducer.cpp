// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/collective/join.h"
#include "core/train/gradient_reducer.h"

#include <QTest>

#include <numeric>

using namespace lockstep;
using namespace lockstep::train;

class TestGradientReducer : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void cutsASmallBucketFirst() {
        QCOMPARE(bucketEnds(0, 0), std::vector<std::size_t>{});
        QCOMPARE(bucketEnds(100, 0), (std::vector<std::size_t>{100}));
        QCOMPARE(bucketEnds(65536 + 1, 0), (std::vector<std::size_t>{65536, 65537}));
        QCOMPARE(bucketEnds(3'000'000, 0),
                 (std::vector<std::size_t>{65536, 1114112, 2162688, 3'000'000}));
        QCOMPARE(bucketEnds(10, 16), (std::vector<std::size_t>{4, 8, 10}));
        QCOMPARE(bucketEnds(3, 1), (std::vector<std::size_t>{1, 2, 3}));
    }

    void submitsBucketsOnceTheyAreWhole() {
        collective::JoinOptions alone;
        alone.members.push_back({"worker:0", "", 0});
        const auto group = collective::join(alone);
        std::vector<float> gradients(10);
        std::iota(gradients.begin(), gradients.end(), 0.0F);
        const std::vector<float> expected = gradients;
        GradientReducer reducer(*group, gradients, bucketEnds(10, 16));
        for (int step = 0; step < 2; ++step) {
            reducer.reset();
            reducer.complete(3);
            reducer.complete(9);
            reducer.complete(10);
            for (std::size_t bucket = 0; bucket < reducer.buckets(); ++bucket)
                reducer.wait(bucket);
            QVERIFY(reducer.milliseconds() >= 0);
            QCOMPARE(gradients, expected);
        }
    }
};

QTEST_APPLESS_MAIN(TestGradientReducer)
#include "tst_gradient_reducer.moc"
