// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/models/cluster_check_session.h"

#include <algorithm>

namespace lockstep::ui {

namespace {

using agent::Reach;
using run::CheckedHost;
using run::CheckedPair;

constexpr int kShowEveryMs = 100;

QString text(const std::string& value) {
    return QString::fromStdString(value);
}

QString gibibytes(std::int64_t bytes) {
    return ClusterCheckSession::tr("%1 GiB").arg(static_cast<double>(bytes) / (1LL << 30), 0, 'f',
                                                 1);
}

QList<HostFact> factsOf(const CheckedHost& host) {
    const auto& probe = host.probe;
    const auto tr = [](const char* name) { return ClusterCheckSession::tr(name); };
    QString gpus = text(agent::gpuStateName(probe.gpuState)).replace(u'_', u' ');
    if (!probe.gpus.empty())
        gpus = QStringLiteral("%1 × %2").arg(probe.gpus.size()).arg(text(probe.gpus.front().name));
    return {{tr("System"), text(probe.system)},
            {tr("C library"), text(probe.libc)},
            {tr("Cores"), QString::number(probe.cores)},
            {tr("Memory"), gibibytes(probe.memoryBytes), true},
            {tr("Load"), QString::number(probe.load, 'f', 2), true},
            {tr("Free"), gibibytes(probe.diskFreeBytes), true},
            {tr("Clock"),
             QStringLiteral("%1%2 s")
                 .arg(host.clockOffsetSeconds < 0 ? QString() : QStringLiteral("+"))
                 .arg(host.clockOffsetSeconds, 0, 'f', 3),
             true},
            {tr("GPUs"), gpus},
            {tr("Driver"), text(probe.driver)},
            {QStringLiteral("CUDA"), text(probe.cuda)},
            {QStringLiteral("NCCL"), text(probe.nccl)}};
}

CheckHost hostOf(const CheckedHost& host) {
    CheckHost shown;
    shown.task = text(host.task);
    shown.name = text(host.name);
    shown.words = text(host.words);
    switch (host.state) {
    case CheckedHost::State::Waiting:
        break;
    case CheckedHost::State::Connecting:
    case CheckedHost::State::Deploying:
    case CheckedHost::State::Probing:
        shown.state = CheckHost::State::Working;
        break;
    case CheckedHost::State::Done:
        shown.state = CheckHost::State::Done;
        shown.facts = factsOf(host);
        break;
    case CheckedHost::State::Failed:
        shown.state = CheckHost::State::Failed;
        break;
    }
    return shown;
}

CheckPair::State stateOf(const CheckedPair& pair) {
    switch (pair.state) {
    case CheckedPair::State::Waiting:
        return CheckPair::State::Waiting;
    case CheckedPair::State::Running:
        return CheckPair::State::Working;
    case CheckedPair::State::Skipped:
        return CheckPair::State::Skipped;
    case CheckedPair::State::Self:
        return CheckPair::State::Self;
    case CheckedPair::State::Done:
        break;
    }
    switch (pair.result.reach) {
    case Reach::Reached:
        return pair.isGood() ? CheckPair::State::Good : CheckPair::State::Warning;
    case Reach::Refused:
    case Reach::NoRoute:
        return CheckPair::State::Refused;
    case Reach::Dropped:
    case Reach::TimedOut:
        return CheckPair::State::Dropped;
    case Reach::UnknownName:
        return CheckPair::State::NameUnknown;
    case Reach::WrongProgram:
    case Reach::WrongHost:
        return CheckPair::State::WrongAnswer;
    }
    return CheckPair::State::Waiting;
}

CheckFinding findingOf(const run::CheckFinding& finding) {
    CheckFinding shown;
    shown.kind = static_cast<FindingKind>(finding.kind);
    shown.subject = text(finding.task);
    if (!finding.peer.empty())
        shown.subject = (shown.subject + QStringLiteral(" → ") + text(finding.peer)).trimmed();
    shown.what = text(finding.what);
    shown.todo = text(finding.todo);
    return shown;
}

} // namespace

CheckView viewOf(const run::CheckReport& report, bool isRunning) {
    CheckView view;
    view.isRunning = isRunning;
    std::size_t known = 0;
    for (const CheckedHost& host : report.hosts) {
        view.hosts.append(hostOf(host));
        known += host.state == CheckedHost::State::Done || host.state == CheckedHost::State::Failed;
    }
    std::size_t tried = 0;
    for (std::size_t from = 0; from < report.hosts.size(); ++from)
        for (std::size_t to = 0; to < report.hosts.size(); ++to) {
            const CheckedPair& pair = report.pair(from, to);
            tried += pair.state != CheckedPair::State::Waiting &&
                     pair.state != CheckedPair::State::Running;
            view.pairs.append({stateOf(pair), text(run::pairWords(report, from, to)),
                               pair.result.roundTripSeconds, pair.result.bytesPerSecond});
        }
    for (const run::CheckFinding& finding : report.findings)
        view.findings.append(findingOf(finding));
    const auto share = [](std::size_t part, std::size_t all) {
        return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 1.0;
    };
    const auto hosts = static_cast<int>(report.hosts.size());
    if (isRunning) {
        view.progress =
            0.5 * share(known, report.hosts.size()) + 0.5 * share(tried, report.pairs.size());
        view.words = known < report.hosts.size()
                         ? ClusterCheckSession::tr("Asked %1 of %2 hosts.").arg(known).arg(hosts)
                         : ClusterCheckSession::tr("Trying pairs.");
    } else {
        view.progress = 1;
        view.words =
            (report.isComplete ? ClusterCheckSession::tr("Checked %1 hosts in %2 s.")
                               : ClusterCheckSession::tr("Ended early: %1 hosts, after %2 s."))
                .arg(hosts)
                .arg(report.seconds, 0, 'f', 1);
    }
    return view;
}

ClusterCheckSession::ClusterCheckSession(run::HostFactory hosts, QObject* parent)
    : CheckSession(parent)
    , m_hosts(std::move(hosts)) {
    m_soon.setSingleShot(true);
    m_soon.setInterval(kShowEveryMs);
    connect(&m_soon, &QTimer::timeout, this, &ClusterCheckSession::show);
}

ClusterCheckSession::~ClusterCheckSession() = default;

void ClusterCheckSession::start(const cluster::ClusterSpec& spec, Bandwidth bandwidth) {
    run::CheckOptions options;
    options.bandwidth = bandwidth == Bandwidth::Measure;
    m_check = std::make_unique<run::ClusterCheck>(m_hosts, spec, options);
    const auto soon = [this] {
        if (!m_soon.isActive())
            m_soon.start();
    };
    connect(m_check.get(), &run::ClusterCheck::hostChanged, this, soon);
    connect(m_check.get(), &run::ClusterCheck::pairChanged, this, soon);
    connect(m_check.get(), &run::ClusterCheck::findingsChanged, this, soon);
    connect(m_check.get(), &run::ClusterCheck::done, this, &ClusterCheckSession::show);
    m_check->start();
    m_view = viewOf(m_check->report(), true);
    Q_EMIT changed();
}

void ClusterCheckSession::cancel() {
    if (m_check)
        m_check->cancel();
}

void ClusterCheckSession::show() {
    m_soon.stop();
    m_view = viewOf(m_check->report(), m_check->isRunning());
    Q_EMIT changed();
}

void ClusterCheckSession::push(const cluster::ClusterSpec& spec, std::function<void(Status)> done) {
    m_push = std::make_unique<run::ConfigPush>(m_hosts, spec);
    connect(m_push.get(), &run::ConfigPush::done, this, [this, done = std::move(done)] {
        std::string failures;
        for (const run::PushedConfig& result : m_push->results())
            if (!result.status)
                failures += (failures.empty() ? "" : " ") + result.task + " on " + result.host +
                            ": " + describe(result.status.error());
        done(failures.empty() ? Status() : Status(Error{Code::Internal, failures, {}}));
    });
    m_push->start();
}

} // namespace lockstep::ui
