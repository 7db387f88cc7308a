// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/collective/detail/ring_group.h"

#include "core/base/failure.h"
#include "core/collective/detail/monitor.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>

namespace lockstep::collective::detail {

namespace {

constexpr std::chrono::seconds kFarewell{1};

/// First in, first out; allocates only while it grows.
class WorkQueue {
public:
    using Item = std::shared_ptr<WorkState>;
    bool isEmpty() const { return m_count == 0; }
    void push(Item item) {
        if (m_count == m_slots.size()) {
            std::rotate(m_slots.begin(), m_slots.begin() + static_cast<std::ptrdiff_t>(m_head),
                        m_slots.end());
            m_head = 0;
            m_slots.resize(2 * m_slots.size());
        }
        m_slots[(m_head + m_count++) % m_slots.size()] = std::move(item);
    }
    Item pop() {
        Item item = std::move(m_slots[m_head]);
        m_head = (m_head + 1) % m_slots.size();
        --m_count;
        return item;
    }

private:
    std::vector<Item> m_slots = std::vector<Item>(64);
    std::size_t m_head = 0;
    std::size_t m_count = 0;
};

class RingGroup final : public Group {
public:
    RingGroup(const JoinOptions& options, Joined joined)
        : m_rank(options.rank)
        , m_size(static_cast<int>(options.members.size()))
        , m_task(options.members[static_cast<std::size_t>(options.rank)].task)
        , m_address(addressText(options.members[static_cast<std::size_t>(options.rank)].host,
                                options.members[static_cast<std::size_t>(options.rank)].port))
        , m_verdictWait(options.heartbeatTimeout + std::chrono::seconds(1))
        , m_ring(options.rank, m_size, std::move(joined.ringOut), std::move(joined.ringIn),
                 options.collectiveTimeout, m_fate)
        , m_monitor(options, joined, m_fate, m_ring.outFd())
        , m_thread([this] { execute(); }) {}

    ~RingGroup() override {
        if (!m_fate.isOver())
            abort(Farewell::Failed, "it dropped its group before the exit barrier");
        {
            const std::lock_guard lock(m_mutex);
            m_isStopping = true;
        }
        m_changed.notify_all();
    }

    int rank() const override { return m_rank; }
    int size() const override { return m_size; }

    Work allReduceSum(std::span<float> values) override {
        return submit(Op::SumFloats, std::as_writable_bytes(values), 0);
    }
    Work allReduceSum(std::span<double> values) override {
        return submit(Op::SumDoubles, std::as_writable_bytes(values), 0);
    }
    void broadcast(std::span<std::byte> bytes, int root) override {
        LOCKSTEP_CHECK(root >= 0 && root < m_size,
                       "[broadcast] root " << root << " is not a rank below " << m_size);
        submit(Op::Broadcast, bytes, root).wait();
    }
    std::vector<std::vector<std::byte>> allGather(std::span<const std::byte> mine) override;
    void barrier() override {
        // Every rank's byte has come, so every rank has entered.
        const std::byte here{1};
        allGather({&here, 1});
    }
    void leave(std::chrono::milliseconds timeout) override;
    void abort(Farewell kind, const std::string& reason) override;
    std::optional<Verdict> verdict() const override { return m_fate.verdict(); }

private:
    Work submit(Op op, std::span<std::byte> bytes, int root);
    std::shared_ptr<WorkState> freeState();
    void execute();
    std::optional<Error> runOne(const WorkState& work, std::uint64_t sequence);
    Error endError() const;

    const int m_rank;
    const int m_size;
    const std::string m_task;
    const std::string m_address;
    const std::chrono::milliseconds m_verdictWait;
    Fate m_fate;
    Ring m_ring; // the communication thread's
    Monitor m_monitor;

    std::mutex m_mutex; // guards the four below
    std::condition_variable m_changed;
    WorkQueue m_queue;
    std::uint64_t m_submitted = 0;
    bool m_isStopping = false;
    std::vector<std::shared_ptr<WorkState>> m_states; // reused when nobody else holds them
    std::size_t m_nextState = 0;
    Work m_last;
    std::jthread m_thread; // last: its end is awaited before anything else goes
};

std::shared_ptr<WorkState> RingGroup::freeState() {
    for (std::size_t i = 0; i < m_states.size(); ++i) {
        m_nextState = (m_nextState + 1) % m_states.size();
        if (m_states[m_nextState].use_count() == 1)
            return m_states[m_nextState];
    }
    return m_states.emplace_back(std::make_shared<WorkState>());
}

Error RingGroup::endError() const {
    if (const auto verdict = m_fate.verdict())
        return toError(*verdict);
    return Error{Code::Internal, "[collective] called after leave().", m_task};
}

Work RingGroup::submit(Op op, std::span<std::byte> bytes, int root) {
    if (m_fate.isOver())
        throw Failure(endError());
    const std::lock_guard lock(m_mutex);
    auto state = freeState();
    {
        const std::lock_guard stateLock(state->mutex);
        state->op = op;
        state->bytes = bytes;
        state->root = root;
        state->times = WorkTimes{Monotonic::now(), {}, {}};
        state->done = false;
        state->error.reset();
    }
    m_queue.push(state);
    m_monitor.setSubmitted(++m_submitted);
    m_changed.notify_all();
    m_last = Work(std::move(state));
    return m_last;
}

void RingGroup::execute() {
    ::pthread_setname_np(::pthread_self(), "collective");
    for (std::uint64_t sequence = 1;; ++sequence) {
        std::shared_ptr<WorkState> work;
        {
            std::unique_lock lock(m_mutex);
            m_changed.wait(lock, [&] { return m_isStopping || !m_queue.isEmpty(); });
            if (m_queue.isEmpty())
                return;
            work = m_queue.pop();
        }
        {
            const std::lock_guard lock(work->mutex);
            work->times.started = Monotonic::now();
        }
        finish(*work, runOne(*work, sequence));
    }
}

std::optional<Error> RingGroup::runOne(const WorkState& work, std::uint64_t sequence) {
    if (m_fate.isOver())
        return endError();
    try {
        m_ring.run(work, sequence);
        return std::nullopt;
    } catch (const Ring::Ended&) {
    } catch (const RingError& error) {
        m_monitor.suspect(error, sequence);
        if (!m_fate.waitUntil(Monotonic::now() + m_verdictWait))
            m_fate.decide(m_monitor.judgeAlone(error, sequence));
    } catch (const std::exception& error) {
        m_fate.decide(Verdict{VerdictKind::Failed, m_rank, m_task, m_address,
                              m_task + " failed: " + error.what(), 0, m_rank});
    }
    return endError();
}

std::vector<std::vector<std::byte>> RingGroup::allGather(std::span<const std::byte> mine) {
    const auto count = static_cast<std::size_t>(m_size);
    std::vector<std::byte> all(count * mine.size());
    const auto block = [&](std::size_t rank) {
        return std::span(all).subspan(rank * mine.size(), mine.size());
    };
    std::copy(mine.begin(), mine.end(), block(static_cast<std::size_t>(m_rank)).begin());
    submit(Op::AllGather, all, 0).wait();
    std::vector<std::vector<std::byte>> blocks(count);
    for (std::size_t rank = 0; rank < count; ++rank)
        blocks[rank].assign(block(rank).begin(), block(rank).end());
    return blocks;
}

void RingGroup::leave(std::chrono::milliseconds timeout) {
    m_last.wait();
    m_monitor.sayDone();
    if (!m_fate.waitUntil(Monotonic::now() + timeout) &&
        m_fate.decide(m_monitor.unfinished(timeout)))
        m_monitor.tellEnd(Monotonic::now() + kFarewell);
    if (const auto verdict = m_fate.verdict())
        throw Failure(toError(*verdict));
}

void RingGroup::abort(Farewell kind, const std::string& reason) {
    Verdict verdict;
    verdict.kind = kind == Farewell::Failed ? VerdictKind::Failed : VerdictKind::Stopped;
    verdict.rank = m_rank;
    verdict.task = m_task;
    verdict.address = m_address;
    verdict.sentence = m_task + " (" + m_address + ") " +
                       (kind == Farewell::Failed ? "failed: " : "was stopped: ") + reason;
    if (!verdict.sentence.ends_with('.'))
        verdict.sentence += '.';
    verdict.foundBy = m_rank;
    if (m_fate.decide(std::move(verdict)))
        m_monitor.tellEnd(Monotonic::now() + kFarewell);
}

class SoloGroup final : public Group {
public:
    explicit SoloGroup(const Member& member)
        : m_task(member.task) {}

    int rank() const override { return 0; }
    int size() const override { return 1; }
    Work allReduceSum(std::span<float>) override { return check(); }
    Work allReduceSum(std::span<double>) override { return check(); }
    void broadcast(std::span<std::byte>, int) override { check(); }
    std::vector<std::vector<std::byte>> allGather(std::span<const std::byte> mine) override {
        check();
        return {std::vector<std::byte>(mine.begin(), mine.end())};
    }
    void barrier() override { check(); }
    void leave(std::chrono::milliseconds) override {
        check();
        m_fate.setLeft();
    }
    void abort(Farewell kind, const std::string& reason) override {
        const bool isFailed = kind == Farewell::Failed;
        m_fate.decide(Verdict{isFailed ? VerdictKind::Failed : VerdictKind::Stopped,
                              0,
                              m_task,
                              {},
                              m_task + (isFailed ? " failed: " : " was stopped: ") + reason,
                              0,
                              0});
    }
    std::optional<Verdict> verdict() const override { return m_fate.verdict(); }

private:
    Work check() {
        if (const auto verdict = m_fate.verdict())
            throw Failure(toError(*verdict));
        LOCKSTEP_CHECK(!m_fate.isOver(), "[collective] called after leave()");
        return Work{};
    }
    const std::string m_task;
    Fate m_fate;
};

} // namespace

std::unique_ptr<Group> makeRingGroup(const JoinOptions& options, Joined joined) {
    return std::make_unique<RingGroup>(options, std::move(joined));
}

std::unique_ptr<Group> makeSoloGroup(const Member& member) {
    return std::make_unique<SoloGroup>(member);
}

} // namespace lockstep::collective::detail
