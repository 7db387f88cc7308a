// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/run/cluster_check.h"

#include "core/base/clock.h"
#include "core/base/hash.h"

#include <QElapsedTimer>
#include <QSysInfo>
#include <QTimer>

#include <algorithm>
#include <cmath>
#include <set>

namespace lockstep::run {

namespace {

using namespace std::chrono_literals;
using HostState = CheckedHost::State;
using PairState = CheckedPair::State;

constexpr int kClockExchanges = 3;
constexpr auto kJudgeDelay = 200ms;
constexpr auto kCloseDeadline = 2s;

QByteArray bytes(const std::string& value) {
    return QByteArray::fromStdString(value);
}

double secondsOf(std::chrono::milliseconds time) {
    return std::chrono::duration<double>(time).count();
}

} // namespace

/// One machine and the tasks on it.
struct Entry {
    std::string key;
    std::string base;
    std::vector<std::size_t> tasks;     ///< places in the report
    std::shared_ptr<remote::Host> host; ///< others may go on with it
    remote::Host::RequestId asked = 0;  ///< the request under way, or the last one
    QObject context;                    ///< of what we hear from it
    remote::HostFacts facts;
    bool isReady = false;
    int clocksLeft = kClockExchanges;
    std::unique_ptr<remote::Stream> listener;
    std::size_t doorsLeft = 0; ///< whose state is not known yet
    std::unique_ptr<remote::Stream> dialler;

    ~Entry() {
        if (host)
            host->cancel(asked);
    }
};

struct ClusterCheck::Private {
    ClusterCheck* q;
    HostFactory factory;
    cluster::ClusterSpec spec;
    CheckOptions options;
    CheckReport report;
    std::vector<std::unique_ptr<Entry>> entries;
    std::string token = randomHex(16);
    std::vector<std::vector<std::pair<std::size_t, std::size_t>>> rounds;
    std::size_t nextRound = 0;
    QElapsedTimer elapsed;
    QTimer total;
    QTimer judging;         ///< so that many results at once are judged once
    bool isClosing = false; ///< late answers change nothing
    enum class Stage { Idle, Hosts, Ports, Pairs, Bandwidth, Over } stage = Stage::Idle;

    void makeEntries();
    void begin();
    void prepare(Entry& entry);
    void probe(Entry& entry);
    void askClock(Entry& entry);
    void settle(Entry& entry, const Error& error);
    void setState(Entry& entry, HostState state, const std::string& words);
    void hostsMaybeReady();
    void listen(Entry& entry);
    void doorKnown(Entry& entry, const agent::ListenReply& reply);
    void portsMaybeKnown();
    void dialAll();
    void dial(Entry& entry, const std::vector<std::size_t>& targets, double bandwidth);
    void answered(Entry& entry, const agent::DialResult& result, double bandwidth);
    void dialEnded(Entry& entry, const std::vector<std::size_t>& targets, double bandwidth);
    void pairsMaybeKnown();
    void measureRound();
    void judgeSoon();
    void judge();
    void finish();
    void closeStreams();
};

ClusterCheck::ClusterCheck(HostFactory hosts, cluster::ClusterSpec spec, CheckOptions options,
                           QObject* parent)
    : QObject(parent)
    , m_d(std::make_unique<Private>()) {
    m_d->q = this;
    m_d->factory = std::move(hosts);
    m_d->spec = std::move(spec);
    m_d->options = options;
    m_d->makeEntries();
    m_d->total.setSingleShot(true);
    connect(&m_d->total, &QTimer::timeout, this, [this] { m_d->finish(); });
    m_d->judging.setSingleShot(true);
    m_d->judging.setInterval(kJudgeDelay);
    connect(&m_d->judging, &QTimer::timeout, this, [this] { m_d->judge(); });
}

ClusterCheck::~ClusterCheck() = default;

void ClusterCheck::start() {
    QMetaObject::invokeMethod(
        this, [this] { m_d->begin(); }, Qt::QueuedConnection);
}

void ClusterCheck::cancel() {
    QMetaObject::invokeMethod(
        this, [this] { m_d->finish(); }, Qt::QueuedConnection);
}

bool ClusterCheck::isRunning() const {
    return m_d->stage != Private::Stage::Idle && m_d->stage != Private::Stage::Over;
}

const CheckReport& ClusterCheck::report() const {
    return m_d->report;
}

void ClusterCheck::Private::makeEntries() {
    std::vector<cluster::Worker> workers = spec.workers();
    std::stable_sort(workers.begin(), workers.end(),
                     [](const auto& a, const auto& b) { return a.task < b.task; });
    for (const cluster::Worker& worker : workers) {
        CheckedHost host;
        host.task = worker.task.text();
        host.name =
            worker.isOnThisMachine() ? QSysInfo::machineHostName().toStdString() : worker.sshText();
        host.address = worker.address;
        report.hosts.push_back(host);
        const std::string key = hostKey(worker);
        auto at = std::find_if(entries.begin(), entries.end(),
                               [&](const auto& entry) { return entry->key == key; });
        if (at == entries.end()) {
            at = entries.insert(entries.end(), std::make_unique<Entry>());
            (*at)->key = key;
            (*at)->base = worker.base;
        }
        (*at)->tasks.push_back(report.hosts.size() - 1);
    }
    const std::size_t count = report.hosts.size();
    report.pairs.resize(count * count);
    for (std::size_t i = 0; i < count; ++i)
        report.pair(i, i).state = PairState::Self;
    rounds = meetingRounds(count);
}

void ClusterCheck::Private::begin() {
    if (stage != Stage::Idle)
        return;
    stage = Stage::Hosts;
    elapsed.start();
    total.start(options.deploy + options.total);
    const auto workers = spec.workers();
    for (const auto& entry : entries) {
        const auto id = cluster::TaskId::parse(report.hosts[entry->tasks.front()].task);
        const auto worker = id ? spec.find(*id) : std::nullopt;
        auto made = factory(worker ? *worker : cluster::Worker{});
        if (!made) {
            settle(*entry, made.error());
            continue;
        }
        entry->host = std::move(*made);
        prepare(*entry);
    }
    hostsMaybeReady();
}

void ClusterCheck::Private::setState(Entry& entry, HostState state, const std::string& words) {
    if (isClosing)
        return;
    for (const std::size_t place : entry.tasks) {
        report.hosts[place].state = state;
        report.hosts[place].words = words;
        Q_EMIT q->hostChanged(place);
    }
}

void ClusterCheck::Private::settle(Entry& entry, const Error& error) {
    if (isClosing)
        return;
    setState(entry, HostState::Failed, describe(error));
    for (const std::size_t from : entry.tasks)
        for (std::size_t to = 0; to < report.hosts.size(); ++to)
            if (from != to)
                report.pair(from, to).state = PairState::Skipped;
    judgeSoon();
    hostsMaybeReady();
}

void ClusterCheck::Private::prepare(Entry& entry) {
    setState(entry, HostState::Connecting, "connecting");
    connect(entry.host.get(), &remote::Host::stageChanged, &entry.context,
            [this, &entry](remote::HostStage now, std::int64_t done, std::int64_t all) {
                if (now == remote::HostStage::Asking)
                    setState(entry, HostState::Connecting, "waiting for an answer of yours");
                if (now == remote::HostStage::Deploying)
                    setState(entry, HostState::Deploying,
                             all > 0 ? "deploying " + std::to_string(100 * done / all) + " %"
                                     : "deploying");
            });
    const auto prepared = [this, &entry](Result<remote::HostFacts> facts) {
        if (!facts)
            return settle(entry, facts.error());
        entry.facts = *facts;
        for (const std::size_t place : entry.tasks)
            report.hosts[place].base = facts->machinePath().toStdString();
        probe(entry);
    };
    entry.asked = entry.host->deploy(
        [this, &entry, prepared](Result<QString> version) {
            if (!version)
                return settle(entry, version.error());
            entry.asked = entry.host->prepare(QString::fromStdString(entry.base), prepared);
        },
        options.deploy);
}

void ClusterCheck::Private::probe(Entry& entry) {
    setState(entry, HostState::Probing, "asking");
    agent::ProbeRequest request;
    request.folder = entry.facts.base.toStdString();
    std::set<std::string> names;
    for (const CheckedHost& host : report.hosts)
        if (const auto address = cluster::Address::parse(host.address);
            address && address->isName() && names.insert(address->host).second)
            request.names.push_back(address->host);
    entry.asked = entry.host->run(
        entry.facts.worker({QStringLiteral("probe")}), bytes(agent::encode(request)),
        [this, &entry](Result<remote::Output> output) {
            const auto reply = output ? agent::decodeHostProbe(output->out.trimmed().toStdString())
                                      : Result<agent::HostProbe>(output.error());
            if (!reply)
                return settle(entry, reply.error());
            for (const std::size_t place : entry.tasks) {
                report.hosts[place].probe = *reply;
                report.hosts[place].clockErrorSeconds = 1e9;
            }
            askClock(entry);
        },
        30s);
}

/// The exchange with the shortest way there and back tells the offset best.
void ClusterCheck::Private::askClock(Entry& entry) {
    agent::ProbeRequest request;
    request.onlyClock = true;
    const double sent = Clock::system().utcSeconds();
    const auto took = std::make_shared<QElapsedTimer>();
    took->start();
    entry.asked = entry.host->run(
        entry.facts.worker({QStringLiteral("probe")}), bytes(agent::encode(request)),
        [this, &entry, sent, took](Result<remote::Output> output) {
            const double trip = static_cast<double>(took->nsecsElapsed()) * 1e-9;
            const auto reply = output ? agent::decodeHostProbe(output->out.trimmed().toStdString())
                                      : Result<agent::HostProbe>(output.error());
            if (!reply)
                return settle(entry, reply.error());
            for (const std::size_t place : entry.tasks)
                if (CheckedHost& host = report.hosts[place]; trip / 2 < host.clockErrorSeconds) {
                    host.clockErrorSeconds = trip / 2;
                    host.clockOffsetSeconds = reply->utcSeconds - (sent + trip / 2);
                }
            if (--entry.clocksLeft > 0)
                return askClock(entry);
            entry.isReady = true;
            setState(entry, HostState::Done, {});
            judgeSoon();
            hostsMaybeReady();
        },
        10s);
}

void ClusterCheck::Private::hostsMaybeReady() {
    const bool all = std::all_of(report.hosts.begin(), report.hosts.end(), [](const auto& host) {
        return host.state == HostState::Done || host.state == HostState::Failed;
    });
    if (stage != Stage::Hosts || !all)
        return;
    stage = Stage::Ports;
    total.start(options.total);
    for (const auto& entry : entries)
        if (entry->isReady)
            listen(*entry);
    portsMaybeKnown();
}

void ClusterCheck::Private::listen(Entry& entry) {
    agent::ListenRequest request;
    request.token = token;
    request.seconds = secondsOf(options.total);
    for (const std::size_t place : entry.tasks)
        if (const auto address = cluster::Address::parse(report.hosts[place].address))
            request.ports.push_back({report.hosts[place].task, address->port});
    entry.doorsLeft = request.ports.size();
    entry.listener = entry.host->start(entry.facts.worker({QStringLiteral("listen")}),
                                       bytes(agent::encode(request)), 15s);
    connect(entry.listener.get(), &remote::Stream::lineReceived, q,
            [this, &entry](const QByteArray& line) {
                if (const auto reply = agent::decodeListenReply(line.toStdString()))
                    doorKnown(entry, *reply);
            });
    connect(entry.listener.get(), &remote::Stream::closed, q,
            [this, &entry](const Result<remote::Exit>& end, const QByteArray& errors) {
                if (entry.doorsLeft == 0 || stage == Stage::Over)
                    return;
                entry.doorsLeft = 0;
                settle(entry, end ? Error{Code::Internal,
                                          "The listener ended: " + errors.trimmed().toStdString(),
                                          {}}
                                  : end.error());
                portsMaybeKnown();
            });
}

void ClusterCheck::Private::doorKnown(Entry& entry, const agent::ListenReply& reply) {
    for (const std::size_t place : entry.tasks)
        if (CheckedHost& host = report.hosts[place]; host.task == reply.task) {
            host.listener = reply;
            Q_EMIT q->hostChanged(place);
        }
    if (entry.doorsLeft > 0)
        --entry.doorsLeft;
    judgeSoon();
    portsMaybeKnown();
}

void ClusterCheck::Private::portsMaybeKnown() {
    const bool all = std::all_of(entries.begin(), entries.end(),
                                 [](const auto& entry) { return entry->doorsLeft == 0; });
    if (stage == Stage::Ports && all)
        dialAll();
}

void ClusterCheck::Private::dialAll() {
    stage = Stage::Pairs;
    for (const auto& entry : entries) {
        if (!entry->isReady)
            continue;
        // In the order of the rounds, so that each host measures with one other at a time.
        std::vector<std::size_t> targets;
        for (const auto& round : rounds)
            for (const auto& [a, b] : round)
                for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
                    if (std::count(entry->tasks.begin(), entry->tasks.end(), from) &&
                        !std::count(targets.begin(), targets.end(), to))
                        targets.push_back(to);
        dial(*entry, targets, 0);
    }
    pairsMaybeKnown();
}

void ClusterCheck::Private::dial(Entry& entry, const std::vector<std::size_t>& targets,
                                 double bandwidth) {
    agent::DialRequest request;
    request.token = token;
    request.resolveSeconds = secondsOf(options.resolve);
    request.connectSeconds = secondsOf(options.connect);
    request.echoSeconds = secondsOf(options.echo);
    request.bandwidthSeconds = bandwidth;
    request.seconds = secondsOf(options.total);
    for (const std::size_t to : targets) {
        const auto address = cluster::Address::parse(report.hosts[to].address);
        if (!address)
            continue;
        request.peers.push_back(
            {report.hosts[to].task, address->host, address->zone, address->port});
        for (const std::size_t from : entry.tasks)
            if (from != to && report.pair(from, to).state == PairState::Waiting) {
                report.pair(from, to).state = PairState::Running;
                Q_EMIT q->pairChanged(from, to);
            }
    }
    if (request.peers.empty())
        return;
    entry.dialler = entry.host->start(entry.facts.worker({QStringLiteral("dial")}),
                                      bytes(agent::encode(request)), options.total + 5s);
    connect(entry.dialler.get(), &remote::Stream::lineReceived, q,
            [this, &entry, bandwidth](const QByteArray& line) {
                if (const auto result = agent::decodeDialResult(line.toStdString()))
                    answered(entry, *result, bandwidth);
            });
    connect(entry.dialler.get(), &remote::Stream::closed, q,
            [this, &entry, targets, bandwidth] { dialEnded(entry, targets, bandwidth); });
}

void ClusterCheck::Private::answered(Entry& entry, const agent::DialResult& result,
                                     double bandwidth) {
    for (const std::size_t from : entry.tasks)
        for (std::size_t to = 0; to < report.hosts.size(); ++to) {
            if (from == to || report.hosts[to].task != result.task)
                continue;
            CheckedPair& pair = report.pair(from, to);
            if (bandwidth > 0)
                pair.result.bytesPerSecond = result.bytesPerSecond;
            else
                pair = {PairState::Done, result};
            Q_EMIT q->pairChanged(from, to);
        }
    judgeSoon();
}

void ClusterCheck::Private::dialEnded(Entry& entry, const std::vector<std::size_t>& targets,
                                      double bandwidth) {
    if (stage == Stage::Over)
        return;
    for (const std::size_t to : targets)
        for (const std::size_t from : entry.tasks)
            if (report.pair(from, to).state == PairState::Running && bandwidth <= 0) {
                report.pair(from, to).state = PairState::Done; // Reach::TimedOut
                report.pair(from, to).result.words = "the dialling program ended";
                Q_EMIT q->pairChanged(from, to);
            }
    // The stream is the sender of this signal: it goes when the event loop is back.
    entry.dialler.release()->deleteLater();
    pairsMaybeKnown();
}

void ClusterCheck::Private::pairsMaybeKnown() {
    const bool busy = std::any_of(entries.begin(), entries.end(),
                                  [](const auto& entry) { return entry->dialler != nullptr; });
    if (busy || (stage != Stage::Pairs && stage != Stage::Bandwidth))
        return;
    if (!options.bandwidth)
        return finish();
    stage = Stage::Bandwidth;
    measureRound();
}

/// Everyone of a round at once, and the next round when all of them are done.
void ClusterCheck::Private::measureRound() {
    while (nextRound < rounds.size()) {
        bool any = false;
        total.start(options.total);
        for (const auto& [a, b] : rounds[nextRound++])
            for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
                for (const auto& entry : entries)
                    if (entry->isReady && !entry->dialler &&
                        std::count(entry->tasks.begin(), entry->tasks.end(), from) &&
                        report.pair(from, to).isGood() &&
                        report.pair(from, to).result.bytesPerSecond == 0) {
                        dial(*entry, {to}, 1);
                        any = true;
                    }
        if (any)
            return;
    }
    finish();
}

void ClusterCheck::Private::judgeSoon() {
    if (stage != Stage::Over && !judging.isActive())
        judging.start();
}

void ClusterCheck::Private::judge() {
    auto findings = findingsOf(spec, report);
    if (findings == report.findings)
        return;
    report.findings = std::move(findings);
    Q_EMIT q->findingsChanged();
}

void ClusterCheck::Private::finish() {
    if (stage == Stage::Over)
        return;
    const bool whole = stage == Stage::Pairs || stage == Stage::Bandwidth;
    report.isComplete =
        whole && std::none_of(report.pairs.begin(), report.pairs.end(), [](const auto& pair) {
            return pair.state == PairState::Waiting || pair.state == PairState::Running;
        });
    stage = Stage::Over;
    total.stop();
    judging.stop();
    report.seconds = elapsed.isValid() ? static_cast<double>(elapsed.elapsed()) * 1e-3 : 0;
    for (const auto& entry : entries) {
        const auto& first = report.hosts[entry->tasks.front()];
        if (first.state != HostState::Done && first.state != HostState::Failed)
            setState(*entry, HostState::Failed, "the check ended before this host was ready");
    }
    judge();
    closeStreams();
}

/// A launch may follow at once: the workers' ports must be free again when done() comes.
void ClusterCheck::Private::closeStreams() {
    isClosing = true;
    const auto openOnes = std::make_shared<int>(1);
    const auto closedOne = [this, openOnes] {
        if (--*openOnes != 0)
            return;
        total.disconnect(q);
        total.stop();
        entries.clear();
        Q_EMIT q->done();
    };
    for (const auto& entry : entries)
        for (auto* stream : {&entry->listener, &entry->dialler})
            if (*stream && !(*stream)->isClosed()) {
                ++*openOnes;
                (*stream)->disconnect(q);
                connect(stream->get(), &remote::Stream::closed, q, closedOne, Qt::QueuedConnection);
                (*stream)->close();
            }
    total.disconnect(q);
    connect(&total, &QTimer::timeout, q, [openOnes, closedOne] {
        *openOnes = 1; // a host that does not answer keeps nobody waiting
        closedOne();
    });
    total.start(kCloseDeadline);
    QMetaObject::invokeMethod(q, closedOne, Qt::QueuedConnection);
}

} // namespace lockstep::run
