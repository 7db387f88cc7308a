// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/run/check_report.h"

#include "core/base/clock.h"

#include <algorithm>
#include <cmath>

namespace lockstep::run {

namespace {

using agent::EchoState;
using agent::Reach;

constexpr const char* kKinds[] = {"error", "warning", "fact"};
constexpr const char* kHostStates[] = {"waiting", "connecting", "deploying",
                                       "probing", "done",       "failed"};

json::Value parsed(const std::string& line) {
    auto value = json::parse(line, "check");
    return value ? std::move(*value) : json::Value();
}

std::string listOf(const std::vector<std::string>& items) {
    std::string text;
    for (const std::string& item : items)
        text += (text.empty() ? "" : ", ") + item;
    return text;
}

std::string echoWords(const agent::DialResult& r) {
    if (r.echo1K.state != EchoState::Good)
        return "the 1 KiB echo failed";
    if (r.echo64K.state != EchoState::Good)
        return "64 KiB echo failed, 1 KiB ok: long packets are lost on the way";
    if (r.echo1M.state != EchoState::Good)
        return "1 MiB echo failed, 64 KiB ok: the path is very slow or loses packets";
    return {};
}

} // namespace

bool CheckedPair::isGood() const {
    return state == State::Done && result.reach == Reach::Reached &&
           result.echo1M.state == EchoState::Good;
}

int CheckReport::count(FindingKind kind) const {
    return static_cast<int>(std::count_if(findings.begin(), findings.end(),
                                          [&](const auto& f) { return f.kind == kind; }));
}

std::string ownerWords(const agent::PortOwner& owner) {
    const std::string by = owner.user.empty() ? std::string() : " by " + owner.user;
    // "2026-01-31T14:02:03.123Z"
    const std::string since =
        owner.startedAt > 0 ? ", started " + isoTime(owner.startedAt).substr(11, 5) + " UTC" : "";
    if (!owner.run.empty())
        return "belongs to run " + owner.run + since + by;
    if (owner.pid != 0)
        return "is in use by process " + std::to_string(owner.pid) + " (" + owner.command + ")" +
               since + by;
    return owner.user.empty() ? "is in use" : "is in use by a process of " + owner.user;
}

Problems problemsOf(const CheckReport& report, const std::string& clusterFile,
                    const std::function<bool(const std::string& task)>& isWanted) {
    Problems problems;
    for (const CheckFinding& finding : report.findings) {
        if (finding.kind == FindingKind::Fact || !isWanted(finding.task) || !isWanted(finding.peer))
            continue;
        const std::string subject = subjectOf(finding);
        Problem problem;
        problem.severity = finding.kind == FindingKind::Error ? Severity::Error : Severity::Warning;
        problem.file = clusterFile;
        problem.message = (subject.empty() ? "" : subject + ": ") + finding.what;
        problem.hint = finding.todo;
        problems.push_back(std::move(problem));
    }
    if (!report.isComplete && !hasErrors(problems))
        problems.push_back({Severity::Warning, clusterFile, "", 0,
                            "The check of the hosts did not come to its end.", "",
                            "See lockstepctl check, or the page Check."});
    return problems;
}

std::string subjectOf(const CheckFinding& finding) {
    return finding.peer.empty()   ? finding.task
           : finding.task.empty() ? "-> " + finding.peer
                                  : finding.task + " -> " + finding.peer;
}

std::string pairWords(const CheckReport& report, std::size_t from, std::size_t to) {
    const CheckedPair& pair = report.pair(from, to);
    if (pair.state != CheckedPair::State::Done || pair.isGood())
        return {};
    const CheckedHost& a = report.hosts[from];
    const CheckedHost& b = report.hosts[to];
    const agent::DialResult& r = pair.result;
    const std::string failed = a.name + " could not reach " + b.name + " at " + b.address;
    switch (r.reach) {
    case Reach::Reached:
        return a.name + " reached " + b.name + " at " + b.address + ", but: " + echoWords(r) + ".";
    case Reach::Dropped:
        return failed + ": packets are silently dropped in this direction" +
               (report.pair(to, from).isGood() ? " (the other one works)." : ".");
    case Reach::Refused:
        return failed + ": refused (" + r.words + ").";
    case Reach::NoRoute:
        return failed + ": there is no way to it (" + r.words + ").";
    case Reach::UnknownName:
        return failed + ": the name is unknown on " + a.name + " (" + r.words + ").";
    case Reach::WrongProgram:
        if (b.listener.owner.isKnown())
            return failed + ": another program answered; the port " + ownerWords(b.listener.owner) +
                   ".";
        return failed + ": another program answered (" + r.words + ") at " + r.address + ".";
    case Reach::WrongHost:
        return failed + ": " + r.answeredBy + " answered instead; on " + a.name +
               " the name means " + listOf(r.addresses) + ".";
    case Reach::TimedOut:
        return failed + ": " + (r.words.empty() ? "the check ended before" : r.words) + ".";
    }
    return {};
}

std::vector<std::vector<std::pair<std::size_t, std::size_t>>> meetingRounds(std::size_t count) {
    const std::size_t even = count + count % 2; // with an odd one, someone rests in each round
    std::vector<std::vector<std::pair<std::size_t, std::size_t>>> rounds;
    for (std::size_t round = 0; count > 1 && round + 1 < even; ++round) {
        auto& meetings = rounds.emplace_back();
        // Member even-1 stands still, the others go round in a circle.
        const auto at = [&](std::size_t place) { return (round + place) % (even - 1); };
        const auto meet = [&](std::size_t a, std::size_t b) {
            if (a < count && b < count)
                meetings.emplace_back(std::min(a, b), std::max(a, b));
        };
        meet(at(0), even - 1);
        for (std::size_t place = 1; place < even / 2; ++place)
            meet(at(place), at(even - 1 - place));
    }
    return rounds;
}

json::Value toJson(const CheckReport& report) {
    json::Value hosts = json::Value::array();
    for (const CheckedHost& host : report.hosts) {
        json::Value value =
            json::Value::object({{"task", host.task},
                                 {"host", host.name},
                                 {"address", host.address},
                                 {"state", kHostStates[static_cast<std::size_t>(host.state)]},
                                 {"words", host.words},
                                 {"base", host.base}});
        if (host.state == CheckedHost::State::Done) {
            value.set("clock_offset_seconds", host.clockOffsetSeconds);
            value.set("clock_error_seconds", host.clockErrorSeconds);
            value.set("facts", parsed(agent::encode(host.probe)));
        }
        if (!host.listener.task.empty())
            value.set("listener", parsed(agent::encode(host.listener)));
        hosts.append(std::move(value));
    }
    json::Value pairs = json::Value::array();
    for (std::size_t from = 0; from < report.hosts.size(); ++from)
        for (std::size_t to = 0; to < report.hosts.size(); ++to) {
            if (report.pair(from, to).state != CheckedPair::State::Done)
                continue;
            json::Value value = parsed(agent::encode(report.pair(from, to).result));
            value.set("task", report.hosts[from].task);
            value.set("peer", report.hosts[to].task);
            value.set("good", report.pair(from, to).isGood());
            value.set("words", pairWords(report, from, to));
            pairs.append(std::move(value));
        }
    json::Value findings = json::Value::array();
    for (const CheckFinding& f : report.findings)
        findings.append(json::Value::object({{"severity", kKinds[static_cast<std::size_t>(f.kind)]},
                                             {"id", f.id},
                                             {"task", f.task},
                                             {"peer", f.peer},
                                             {"message", f.what},
                                             {"hint", f.todo}}));
    return json::Value::object({{"complete", report.isComplete},
                                {"seconds", report.seconds},
                                {"hosts", std::move(hosts)},
                                {"pairs", std::move(pairs)},
                                {"findings", std::move(findings)}});
}

} // namespace lockstep::run
