// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/data/pipeline.h"

#include "core/base/failure.h"
#include "core/data/epoch_order.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace lockstep::data {

namespace {

struct Slot {
    bool full = false; ///< guarded by State::mutex; what follows belongs to whom it says
    Batch batch;
    std::vector<float> features;
    std::vector<float> labels;
    std::vector<std::int64_t> ids;
};

} // namespace

/// Two slots: the preparing thread fills those that are not full, in turn; the user empties them in
/// the same order. A new epoch empties both, and a batch of an older epoch is dropped when it is
/// done. The wait for a batch has no deadline of its own: the preparing thread only copies memory,
/// and ends with a batch or an exception.
struct Pipeline::State {
    State(RowSet rowSet, const PipelineOptions& given)
        : rows(std::move(rowSet))
        , options(given)
        , order(rows.size(), given.shuffle, given.seed) {
        options.shape.rows = rows.size();
        steps = job::stepsPerEpoch(options.shape);
        const auto most = static_cast<std::size_t>(
            std::min(job::largestShare(options.shape), std::max<std::int64_t>(rows.size(), 1)));
        for (Slot& slot : slots) {
            slot.features.resize(most * static_cast<std::size_t>(rows.dataset->features));
            slot.labels.resize(most * static_cast<std::size_t>(rows.dataset->labels));
            slot.ids.resize(most);
        }
    }

    void prepare(const std::stop_token& stop);
    void fill(Slot& slot, std::int64_t step);

    const RowSet rows;
    PipelineOptions options;
    std::int64_t steps = 0;

    // Of the preparing thread alone.
    EpochOrder order;
    std::int64_t place = 0; ///< in the order: the next row that order.next() gives

    std::mutex mutex;
    std::condition_variable_any changed;
    std::array<Slot, 2> slots;
    std::uint64_t generation = 0; ///< counts startEpoch()
    int epoch = 0;
    std::int64_t firstStep = 0;
    std::exception_ptr failure;

    // Of the user alone.
    std::int64_t nextStep = 0;
    std::size_t turn = 0;
    bool holdsSlot = false;

    std::jthread thread; ///< last, so that it ends before what it uses
};

void Pipeline::State::fill(Slot& slot, std::int64_t step) {
    const job::StepShare share = job::stepShare(options.shape, step, options.rank);
    const Dataset& set = *rows.dataset;
    if (share.inOrder.count > 0 && share.inOrder.begin > place) {
        order.skip(share.inOrder.begin - place);
        place = share.inOrder.begin;
    }
    float* features = slot.features.data();
    float* labels = slot.labels.data();
    for (std::int64_t i = 0; i < share.inOrder.count; ++i, ++place) {
        const std::int64_t id = rows.ids[static_cast<std::size_t>(order.next())];
        slot.ids[static_cast<std::size_t>(i)] = id;
        features = std::copy_n(set.featuresOf(id).data(), set.features, features);
        labels = std::copy_n(set.labelsOf(id).data(), set.labels, labels);
    }
    const auto count = static_cast<std::size_t>(share.inOrder.count);
    slot.batch = {step,
                  share.globalRows,
                  share.inBatch.begin,
                  share.inOrder.count,
                  {slot.features.data(), count * static_cast<std::size_t>(set.features)},
                  {slot.labels.data(), count * static_cast<std::size_t>(set.labels)},
                  {slot.ids.data(), count}};
}

void Pipeline::State::prepare(const std::stop_token& stop) {
    std::uint64_t current = 0;
    std::int64_t step = 0;
    std::size_t at = 0;
    std::unique_lock lock(mutex);
    for (;;) {
        const bool woken = changed.wait(lock, stop, [&] {
            return generation != current || (current > 0 && step < steps && !slots[at].full);
        });
        if (!woken)
            return;
        const bool begins = generation != current;
        if (begins) {
            current = generation;
            step = firstStep;
            at = 0;
            if (step >= steps)
                continue;
        }
        const int currentEpoch = epoch;
        lock.unlock();
        std::exception_ptr thrown;
        try {
            if (begins) {
                const bool own = options.shape.sharding == job::Sharding::Off;
                order.start(currentEpoch, own ? options.rank : 0);
                place = 0;
            }
            fill(slots[at], step);
        } catch (...) {
            thrown = std::current_exception();
        }
        lock.lock();
        if (generation != current)
            continue;
        if (thrown) {
            failure = thrown;
            step = steps;
        } else {
            slots[at].full = true;
            at ^= 1U;
            ++step;
        }
        changed.notify_all();
    }
}

PipelineOptions trainOptions(const job::JobSpec& job, std::int64_t rows, int replicas, int rank) {
    return {job::trainShape(job, rows, replicas), rank, job.data.shuffle, job.seed};
}

PipelineOptions validationOptions(const job::JobSpec& job, std::int64_t rows, int replicas,
                                  int rank) {
    return {job::validationShape(job, rows, replicas), rank, 0, job.seed};
}

Pipeline::Pipeline(RowSet rows, const PipelineOptions& options)
    : m_state(std::make_unique<State>(std::move(rows), options)) {
    State* state = m_state.get();
    state->thread = std::jthread([state](const std::stop_token& stop) { state->prepare(stop); });
}

Pipeline::~Pipeline() = default;

std::int64_t Pipeline::stepsPerEpoch() const {
    return m_state->steps;
}

std::int64_t Pipeline::largestShare() const {
    return static_cast<std::int64_t>(m_state->slots[0].ids.size());
}

const job::EpochShape& Pipeline::shape() const {
    return m_state->options.shape;
}

void Pipeline::startEpoch(int epoch, std::int64_t firstStep) {
    State& state = *m_state;
    const std::lock_guard lock(state.mutex);
    ++state.generation;
    state.epoch = epoch;
    state.firstStep = firstStep;
    state.failure = nullptr;
    for (Slot& slot : state.slots)
        slot.full = false;
    state.nextStep = firstStep;
    state.turn = 0;
    state.holdsSlot = false;
    state.changed.notify_all();
}

const Batch* Pipeline::next() {
    State& state = *m_state;
    std::unique_lock lock(state.mutex);
    LOCKSTEP_CHECK(state.generation > 0, "[pipeline] next() before startEpoch()");
    if (state.holdsSlot) {
        state.slots[state.turn].full = false;
        state.turn ^= 1U;
        state.holdsSlot = false;
        state.changed.notify_all();
    }
    if (state.nextStep >= state.steps)
        return nullptr;
    Slot& slot = state.slots[state.turn];
    state.changed.wait(lock, [&] { return slot.full || state.failure; });
    if (!slot.full)
        std::rethrow_exception(state.failure);
    state.holdsSlot = true;
    ++state.nextStep;
    return &slot.batch;
}

} // namespace lockstep::data
