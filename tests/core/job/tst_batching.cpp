// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/job/batching.h"

#include <QTest>

#include <cmath>

using namespace lockstep;
using namespace lockstep::job;

namespace {

JobSpec sampleJob() {
    Problems problems;
    JobSpec job = parseJob(newJobDocument("x"), "job.json", problems);
    return job;
}

} // namespace

class TestBatching : public QObject {
    Q_OBJECT

private slots:
    void givesTheFirstReplicasTheRemainder() {
        QCOMPARE(replicaShare(10, 3, 0), (RowRange{0, 4}));
        QCOMPARE(replicaShare(10, 3, 1), (RowRange{4, 3}));
        QCOMPARE(replicaShare(10, 3, 2), (RowRange{7, 3}));
        QCOMPARE(replicaShare(1, 4, 0), (RowRange{0, 1}));
        QCOMPARE(replicaShare(1, 4, 3), (RowRange{1, 0}));
        QCOMPARE(replicaShare(0, 2, 1), (RowRange{0, 0}));
    }

    void cutsEveryBatchWithoutGapOrOverlap() {
        for (const std::int64_t rows : {1, 5, 10, 34, 100, 1437})
            for (const std::int64_t batch : {1, 2, 16, 100, 2000})
                for (const int replicas : {1, 2, 3, 4, 7}) {
                    const EpochShape shape{rows, batch, replicas};
                    std::int64_t at = 0;
                    for (std::int64_t step = 0; step < stepsPerEpoch(shape); ++step) {
                        std::int64_t inBatch = 0;
                        for (int rank = 0; rank < replicas; ++rank) {
                            const StepShare share = stepShare(shape, step, rank);
                            QCOMPARE(share.inOrder.begin, at);
                            QCOMPARE(share.inBatch.begin, inBatch);
                            QCOMPARE(share.inBatch.count, share.inOrder.count);
                            QVERIFY(share.inOrder.count <= largestShare(shape));
                            at += share.inOrder.count;
                            inBatch += share.inBatch.count;
                        }
                        QVERIFY(inBatch > 0);
                        QCOMPARE(inBatch, rowsOfStep(shape, step));
                    }
                    QCOMPARE(at, rows);
                }
    }

    void countsThePartialBatchOrDropsIt() {
        EpochShape shape{34, 16, 2};
        QCOMPARE(stepsPerEpoch(shape), 3);
        QCOMPARE(rowsOfStep(shape, 2), 2);
        shape.remainder = Remainder::Drop;
        QCOMPARE(stepsPerEpoch(shape), 2);
        QCOMPARE(rowsOfStep(shape, 0) + rowsOfStep(shape, 1), 32);
        shape.rows = 0;
        QCOMPARE(stepsPerEpoch(shape), 0);
    }

    void readsAllRowsOnEveryReplicaUnderOff() {
        for (const std::int64_t rows : {1, 10, 34, 100})
            for (const std::int64_t batch : {3, 4, 16, 300})
                for (const int replicas : {1, 2, 3}) {
                    const EpochShape shape{rows, batch, replicas, Sharding::Off};
                    const std::int64_t steps = stepsPerEpoch(shape);
                    for (int rank = 0; rank < replicas; ++rank) {
                        std::int64_t at = 0;
                        for (std::int64_t step = 0; step < steps; ++step) {
                            const StepShare share = stepShare(shape, step, rank);
                            QCOMPARE(share.inOrder.begin, at);
                            QVERIFY(share.inBatch.end() <= share.globalRows);
                            QVERIFY(share.globalRows > 0);
                            at += share.inOrder.count;
                        }
                        QCOMPARE(at, rows);
                    }
                }
        EpochShape dropped{10, 7, 2, Sharding::Off, Remainder::Drop};
        QCOMPARE(stepsPerEpoch(dropped), 2); // whole batches of 4 and 3
        QCOMPARE(rowsOfStep(dropped, 1), 7);
    }

    void scalesTheRateWithTheBatchPerReplicaOnly() {
        Fit weak;
        weak.batchSizePerReplica = 32;
        weak.rateScaling = RateScaling::Linear;
        weak.warmupSteps = 4;
        QCOMPARE(globalBatchSize(weak, 4), 128);
        QCOMPARE(learningRateFactor(weak, 4), 4.0);
        QCOMPARE(learningRate(weak, 0.1, 4, 0), 0.1);
        QCOMPARE(learningRate(weak, 0.1, 4, 1), 0.2);
        QCOMPARE(learningRate(weak, 0.1, 4, 3), 0.4);
        QCOMPARE(learningRate(weak, 0.1, 4, 1000), 0.4);
        weak.rateScaling = RateScaling::Sqrt;
        QCOMPARE(learningRateFactor(weak, 4), 2.0);
        weak.rateScaling = RateScaling::None;
        QCOMPARE(learningRateFactor(weak, 4), 1.0);

        Fit strong;
        strong.globalBatchSize = 32;
        strong.rateScaling = RateScaling::Linear;
        QCOMPARE(globalBatchSize(strong, 4), 32);
        QCOMPARE(replicaShare(globalBatchSize(strong, 4), 4, 3).count, 8);
        QCOMPARE(learningRate(strong, 0.1, 4, 0), 0.1);
    }

    void keepsAScheduleMonotoneAcrossEpochs() {
        // 100 rows, batch 16, 3 workers, cosine over two epochs: no jump where the epoch ends.
        const std::int64_t steps = stepsPerEpoch({100, 16, 3});
        QCOMPARE(steps, 7);
        double last = 1;
        double largestFall = 0;
        for (std::int64_t step = 0; step < 2 * steps; ++step) {
            const double rate = 0.5 * (1 + std::cos(M_PI * static_cast<double>(step) /
                                                    (2.0 * static_cast<double>(steps))));
            QVERIFY(rate <= last);
            largestFall = std::max(largestFall, last - rate);
            last = rate;
        }
        QVERIFY(largestFall < 0.12);
    }

    void knowsTheOptimizersOwnRate() {
        KerasObject optimizer;
        optimizer.className = "SGD";
        QCOMPARE(baseLearningRate(optimizer), std::optional(0.01));
        optimizer.className = "adam";
        QCOMPARE(baseLearningRate(optimizer), std::optional(0.001));
        optimizer.config.set("learning_rate", 0.5);
        QCOMPARE(baseLearningRate(optimizer), std::optional(0.5));
        optimizer.config.set("learning_rate", json::Value::object());
        QVERIFY(!baseLearningRate(optimizer));
        optimizer = {};
        optimizer.className = "Unheard";
        QVERIFY(!baseLearningRate(optimizer));
    }

    void takesValidationRowsAsKeras() {
        QCOMPARE(validationRows(1797, 0.2), 360);
        QCOMPARE(validationRows(10, 0.9), 9);
        QCOMPARE(validationRows(10, 0.1), 1);
        QCOMPARE(validationRows(3, 0.01), 1);
        QCOMPARE(validationRows(100, 0), 0);
    }

    void sumsUpForThePanel() {
        JobSpec job = sampleJob();
        job.fit = {};
        job.fit.batchSizePerReplica = 64;
        job.fit.rateScaling = RateScaling::Linear;
        const BatchSummary summary = summarize(job, 1000, 3);
        QCOMPARE(summary.globalBatch, 192);
        QCOMPARE(summary.largestReplicaBatch, 64);
        QCOMPARE(summary.stepsPerEpoch, 6);
        QCOMPARE(summary.lastBatch, 40);
        QCOMPARE(summary.scaledRate, std::optional(0.003));
        job.fit.batchSizePerReplica.reset();
        job.fit.globalBatchSize = 10;
        QCOMPARE(summarize(job, 1000, 3).largestReplicaBatch, 4);
        QCOMPARE(summarize(job, 1000, 3).smallestReplicaBatch, 3);
    }

    void warnsOfIdleReplicas() {
        JobSpec job = sampleJob();
        job.fit.globalBatchSize = 3;
        QVERIFY(checkReplicas(job, 3).empty());
        QCOMPARE(checkReplicas(job, 4).size(), std::size_t(1));
        QVERIFY(!hasErrors(checkReplicas(job, 4)));
        QVERIFY(checkReplicas(job, 4)[0].line == 0);
        job.data.shardPolicy = ShardPolicy::Off;
        QVERIFY(hasErrors(checkReplicas(job, 4)));
        job.data.remainder = Remainder::Drop;
        QVERIFY(hasErrors(checkReplicas(job, 1, 2)));
        QVERIFY(!hasErrors(checkReplicas(job, 1, 3)));
    }

    void saysWhatAutoBecame() {
        QCOMPARE(effectiveSharding(ShardPolicy::Auto).sharding, Sharding::Data);
        QVERIFY(effectiveSharding(ShardPolicy::Auto).reason.starts_with("AUTO took DATA, because"));
        QCOMPARE(effectiveSharding(ShardPolicy::Off).sharding, Sharding::Off);
    }
};

QTEST_APPLESS_MAIN(TestBatching)
#include "tst_batching.moc"
