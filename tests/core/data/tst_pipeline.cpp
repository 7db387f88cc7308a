// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/data/epoch_order.h"
#include "core/data/pipeline.h"

#include <QTest>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <numeric>

using namespace lockstep;
using namespace lockstep::data;

static std::atomic<std::int64_t> s_allocations{0};

void* operator new(std::size_t size) {
    ++s_allocations;
    if (void* memory = std::malloc(size > 0 ? size : 1))
        return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace {

using Ids = std::vector<std::int64_t>;

/// Row i has the features (i, i + 0.5) and the label -i.
RowSet numbered(std::int64_t rows) {
    auto set = std::make_shared<Dataset>();
    set->rows = rows;
    set->features = 2;
    set->labels = 1;
    for (std::int64_t i = 0; i < rows; ++i) {
        set->featureValues.push_back(static_cast<float>(i));
        set->featureValues.push_back(static_cast<float>(i) + 0.5F);
        set->labelValues.push_back(-static_cast<float>(i));
    }
    return allRows(std::move(set));
}

PipelineOptions optionsOf(std::int64_t batch, int replicas, int rank, std::int64_t shuffle = 0) {
    PipelineOptions options;
    options.shape.globalBatch = batch;
    options.shape.replicas = replicas;
    options.rank = rank;
    options.shuffle = shuffle;
    options.seed = 3;
    return options;
}

/// Ids of each global batch of an epoch, put together from all replicas.
std::vector<Ids> globalBatches(const RowSet& rows, PipelineOptions options, int epoch) {
    std::vector<Ids> batches;
    for (options.rank = 0; options.rank < options.shape.replicas; ++options.rank) {
        Pipeline pipeline(rows, options);
        pipeline.startEpoch(epoch);
        std::size_t step = 0;
        while (const Batch* batch = pipeline.next()) {
            if (options.rank == 0)
                batches.emplace_back();
            if (batch->step != static_cast<std::int64_t>(step) ||
                batch->firstRow != static_cast<std::int64_t>(batches[step].size()))
                qFatal("a batch is out of place");
            batches[step].insert(batches[step].end(), batch->ids.begin(), batch->ids.end());
            if (options.rank + 1 == options.shape.replicas &&
                static_cast<std::int64_t>(batches[step].size()) != batch->globalRows)
                qFatal("the shares do not make the batch");
            ++step;
        }
        if (static_cast<std::int64_t>(step) != pipeline.stepsPerEpoch())
            qFatal("a replica took another number of steps");
    }
    return batches;
}

std::vector<std::int64_t> sizes(const RowSet& rows, const PipelineOptions& options) {
    Pipeline pipeline(rows, options);
    pipeline.startEpoch(1);
    std::vector<std::int64_t> counts;
    while (const Batch* batch = pipeline.next())
        counts.push_back(batch->rows);
    return counts;
}

} // namespace

class TestPipeline : public QObject {
    Q_OBJECT

private slots:
    void givesRowsWithTheirValues() {
        Pipeline pipeline(numbered(10), optionsOf(4, 2, 1));
        QCOMPARE(pipeline.stepsPerEpoch(), 3);
        QCOMPARE(pipeline.largestShare(), 2);
        pipeline.startEpoch(1);
        const Batch* batch = pipeline.next();
        QVERIFY(batch);
        QCOMPARE(batch->globalRows, 4);
        QCOMPARE(batch->firstRow, 2);
        QCOMPARE(batch->rows, 2);
        QCOMPARE(std::vector<float>(batch->features.begin(), batch->features.end()),
                 (std::vector<float>{2, 2.5F, 3, 3.5F}));
        QCOMPARE(std::vector<float>(batch->labels.begin(), batch->labels.end()),
                 (std::vector<float>{-2, -3}));
        batch = pipeline.next();
        QCOMPARE(batch->ids[0], 6);
        batch = pipeline.next();
        QCOMPARE(batch->globalRows, 2);
        QCOMPARE(batch->firstRow, 1);
        QCOMPARE(batch->rows, 1);
        QCOMPARE(batch->ids[0], 9);
        QVERIFY(!pipeline.next());
        QVERIFY(!pipeline.next());
    }

    void givesAnyNumberOfReplicasTheSameGlobalBatches() {
        for (const std::int64_t batch : {1, 2, 10, 16, 34, 50})
            for (const std::int64_t shuffle : {0, 7, 1000}) {
                const auto one = globalBatches(numbered(34), optionsOf(batch, 1, 0, shuffle), 2);
                Ids all;
                for (const Ids& ids : one)
                    all.insert(all.end(), ids.begin(), ids.end());
                std::sort(all.begin(), all.end());
                Ids expected(34);
                std::iota(expected.begin(), expected.end(), 0);
                QCOMPARE(all, expected);
                for (const int replicas : {2, 3, 4, 7})
                    QCOMPARE(globalBatches(numbered(34), optionsOf(batch, replicas, 0, shuffle), 2),
                             one);
            }
    }

    void takesAStepOnEveryReplicaAlsoWithoutRows() {
        // 10 rows, batches of 2, 3 replicas; the third never has a row and never hangs.
        QCOMPARE(sizes(numbered(10), optionsOf(2, 3, 0)), (Ids{1, 1, 1, 1, 1}));
        QCOMPARE(sizes(numbered(10), optionsOf(2, 3, 2)), (Ids{0, 0, 0, 0, 0}));
        // 10 rows in one batch: 4, 3 and 3. 5 rows, batches of 4, 4 replicas: the last has 1 row.
        QCOMPARE(sizes(numbered(10), optionsOf(10, 3, 0)), (Ids{4}));
        QCOMPARE(sizes(numbered(10), optionsOf(10, 3, 2)), (Ids{3}));
        QCOMPARE(sizes(numbered(5), optionsOf(4, 4, 0)), (Ids{1, 1}));
        QCOMPARE(sizes(numbered(5), optionsOf(4, 4, 3)), (Ids{1, 0}));
    }

    void keepsOrDropsTheRemainder() {
        PipelineOptions options = optionsOf(16, 2, 0);
        QCOMPARE(sizes(numbered(34), options), (Ids{8, 8, 1}));
        options.shape.remainder = job::Remainder::Drop;
        QCOMPARE(sizes(numbered(34), options), (Ids{8, 8}));
    }

    void shufflesEachEpochAnew() {
        const RowSet rows = numbered(20);
        const PipelineOptions options = optionsOf(20, 1, 0, 20);
        const auto first = globalBatches(rows, options, 1);
        QVERIFY(globalBatches(rows, options, 2) != first);
        QCOMPARE(globalBatches(rows, options, 1), first);
    }

    void readsAllRowsOnEveryReplicaUnderOffInOrdersOfTheirOwn() {
        std::vector<Ids> orders;
        for (int rank = 0; rank < 3; ++rank) {
            PipelineOptions options = optionsOf(10, 3, rank, 100);
            options.shape.sharding = job::Sharding::Off;
            Pipeline pipeline(numbered(25), options);
            QCOMPARE(pipeline.stepsPerEpoch(), 9);
            pipeline.startEpoch(1);
            Ids ids;
            while (const Batch* batch = pipeline.next())
                ids.insert(ids.end(), batch->ids.begin(), batch->ids.end());
            orders.push_back(ids);
            std::sort(ids.begin(), ids.end());
            Ids expected(25);
            std::iota(expected.begin(), expected.end(), 0);
            QCOMPARE(ids, expected);
        }
        QVERIFY(orders[0] != orders[1]);
        QVERIFY(orders[1] != orders[2]);
    }

    void continuesInTheMiddleOfAnEpoch() {
        const RowSet rows = numbered(100);
        const PipelineOptions options = optionsOf(8, 3, 1, 30);
        Pipeline whole(rows, options);
        Pipeline resumed(rows, options);
        whole.startEpoch(3);
        for (int step = 0; step < 5; ++step)
            whole.next();
        resumed.startEpoch(3, 5);
        for (;;) {
            const Batch* expected = whole.next();
            const Batch* got = resumed.next();
            QCOMPARE(got == nullptr, expected == nullptr);
            if (!got)
                break;
            QCOMPARE(got->step, expected->step);
            QVERIFY(std::equal(got->ids.begin(), got->ids.end(), expected->ids.begin(),
                               expected->ids.end()));
        }
        resumed.startEpoch(3, 13);
        QVERIFY(!resumed.next());
    }

    void startsAnEpochInTheMiddleOfAnother() {
        Pipeline pipeline(numbered(1000), optionsOf(10, 1, 0));
        for (int round = 0; round < 200; ++round) {
            pipeline.startEpoch(round + 1);
            for (std::int64_t step = 0; step < round % 4; ++step) {
                const Batch* batch = pipeline.next();
                QCOMPARE(batch->step, step);
                QCOMPARE(batch->ids[0], step * 10);
                QCOMPARE(batch->features[0], static_cast<float>(step * 10));
            }
        }
    }

    void endsWithBatchesUntaken() {
        for (int round = 0; round < 50; ++round) {
            Pipeline pipeline(numbered(100), optionsOf(10, 2, 0, 10));
            if (round % 2)
                pipeline.startEpoch(1);
        }
    }

    void allocatesNothingPerStep() {
        Pipeline pipeline(numbered(1000), optionsOf(10, 2, 1, 100));
        pipeline.startEpoch(1);
        pipeline.next();
        pipeline.next();
        const std::int64_t before = s_allocations;
        std::int64_t rows = 10;
        while (const Batch* batch = pipeline.next())
            rows += batch->rows;
        pipeline.startEpoch(2);
        while (const Batch* batch = pipeline.next())
            rows += batch->rows;
        const std::int64_t after = s_allocations;
        QCOMPARE(rows, 1000);
        QCOMPARE(after - before, 0);
    }

    void usesARowSetsOwnRows() {
        RowSet rows = numbered(10);
        rows.ids = {1, 4, 9};
        Pipeline pipeline(rows, optionsOf(2, 1, 0));
        pipeline.startEpoch(1);
        QCOMPARE(pipeline.next()->features[2], 4.0F);
        QCOMPARE(pipeline.next()->ids[0], 9);
        QVERIFY(!pipeline.next());
    }

    void takesAnEmptyRowSet() {
        RowSet rows = numbered(3);
        rows.ids.clear();
        Pipeline pipeline(rows, optionsOf(2, 1, 0));
        QCOMPARE(pipeline.stepsPerEpoch(), 0);
        pipeline.startEpoch(1);
        QVERIFY(!pipeline.next());
    }
};

QTEST_APPLESS_MAIN(TestPipeline)
#include "tst_pipeline.moc"
