// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/cluster/detail/checks.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace lockstep::cluster::detail {

namespace {

struct Read {
    const PlacedAddress* place;
    Address address;
    std::set<std::string> keys; ///< every host key that this host is known by
};

bool isOwnMachineOnly(const Address& address) {
    return address.isLoopback() || address.isWildcard();
}

class AddressCheck {
public:
    AddressCheck(const ValidateOptions& options, Problems& problems)
        : m_options(options)
        , m_problems(problems) {}

    void run(const std::vector<PlacedAddress>& places, Hosts hosts, AllLoopback allLoopback) {
        for (const PlacedAddress& place : places)
            read(place);
        m_several = hosts == Hosts::Several || (hosts == Hosts::Unknown && hasDialable());
        for (const auto& [place, fault] : m_faults)
            reportFault(*place, fault);
        checkLoopback(places.size(), hosts == Hosts::One ? AllLoopback::Fine : allLoopback);
        for (Read& one : m_read)
            resolve(one);
        checkDuplicates();
        if (!m_options.resolve)
            sayComparedAsText();
    }

private:
    void read(const PlacedAddress& place) {
        auto result = readAddress(place.text);
        if (auto* address = std::get_if<Address>(&result))
            m_read.push_back({&place, std::move(*address), {}});
        else
            m_faults.emplace_back(&place, std::move(std::get<AddressFault>(result)));
    }

    bool hasDialable() const {
        return std::any_of(m_read.begin(), m_read.end(),
                           [](const Read& r) { return !isOwnMachineOnly(r.address); });
    }

    void report(Severity severity, const PlacedAddress& place, std::string message,
                std::string expected, std::string hint) {
        m_problems.push_back({severity, m_options.file, place.path, place.line, std::move(message),
                              std::move(expected), std::move(hint)});
    }

    void reportFault(const PlacedAddress& place, const AddressFault& fault) {
        std::string hint = fault.hint;
        if (m_several && isOwnMachineOnly({fault.host, {}, 0}))
            hint += std::string(hint.empty() ? "" : " ") + "Also, " + fault.host +
                    " is each machine's own address; write one that the other machines reach.";
        report(Severity::Error, place, fault.message, fault.expected, hint);
    }

    void checkLoopback(std::size_t tasks, AllLoopback allLoopback) {
        const Read* first = nullptr;
        for (const Read& one : m_read) {
            if (!isOwnMachineOnly(one.address))
                continue;
            if (!first)
                first = &one;
            if (m_several)
                report(Severity::Error, *one.place,
                       "\"" + one.place->text +
                           "\" is each machine's own address, and the tasks "
                           "stand on several machines: each would dial "
                           "itself.",
                       "an address that the other machines reach",
                       "Write this machine's address in the network of the workers.");
        }
        if (first && !m_several && tasks > 1 && allLoopback == AllLoopback::Warn)
            report(Severity::Warning, *first->place,
                   "All tasks have a machine's own address for itself (\"" + first->place->text +
                       "\"): this works only while all run on one machine.",
                   {}, "For several machines, write their addresses in the network.");
    }

    void resolve(Read& one) {
        one.keys.insert(one.address.hostKey());
        if (one.address.isLoopback() && one.address.isName())
            one.keys.insert({"127.0.0.1", "::1"});
        if (!m_options.resolve || !one.address.isName() || one.address.isLoopback())
            return;
        const std::string key = one.address.hostKey();
        if (!m_known.contains(key))
            m_known[key] = m_options.resolve(one.address.host);
        const std::vector<std::string>& numbers = m_known[key];
        for (const std::string& number : numbers)
            one.keys.insert(hostKeyOf(number));
        const bool onlyLoopback =
            !numbers.empty() && std::all_of(numbers.begin(), numbers.end(), [](const auto& n) {
                return Address{n, {}, 0}.isLoopback();
            });
        if (onlyLoopback && m_several)
            report(Severity::Warning, *one.place,
                   "\"" + one.address.host + "\" is " + numbers.front() +
                       " here, this machine's own address; a worker with the same entry in "
                       "/etc/hosts would dial itself.",
                   {}, "Write the number of the machine in the network of the workers.");
    }

    void checkDuplicates() {
        std::map<std::pair<std::string, int>, const Read*> first;
        for (const Read& one : m_read) {
            const Read* twin = nullptr;
            for (const std::string& key : one.keys) {
                const auto at = first.emplace(std::pair(key, one.address.port), &one).first;
                if (at->second != &one && !twin)
                    twin = at->second;
            }
            // Loopback on several machines has its own error, which says what to do.
            if (twin && !(m_several && isOwnMachineOnly(one.address)))
                reportTwins(*twin, one);
        }
    }

    void reportTwins(const Read& first, const Read& second) {
        std::string message = "\"" + second.place->text + "\" is ";
        if (first.place->text == second.place->text)
            message += "also the address of " + first.place->path + ".";
        else
            message += "the same address as \"" + first.place->text + "\" of " + first.place->path +
                       why(first, second) + ".";
        report(Severity::Error, *second.place, message, "a host and port of its own for each task",
               "Several workers may share a host, each with another port.");
    }

    static std::string why(const Read& first, const Read& second) {
        if (first.address.hostKey() == second.address.hostKey())
            return {};
        for (const std::string& key : second.keys)
            if (first.keys.contains(key))
                return ": both hosts are " + key;
        return {};
    }

    /// One warning where two names, or a name and a number, at one port might be one machine.
    void sayComparedAsText() {
        std::map<int, const Read*> byPort;
        for (const Read& one : m_read) {
            const auto [at, isNew] = byPort.emplace(one.address.port, &one);
            const Read& other = *at->second;
            const bool unsure = (one.address.isName() && !one.address.isLoopback()) ||
                                (other.address.isName() && !other.address.isLoopback());
            if (isNew || !unsure || one.address.hostKey() == other.address.hostKey())
                continue;
            report(Severity::Warning, *one.place,
                   "Hosts were compared as text only, since names are not looked up here: whether "
                   "\"" +
                       other.place->text + "\" (" + other.place->path + ") and \"" +
                       one.place->text + "\" are one machine is not known.",
                   {}, {});
            return;
        }
    }

    const ValidateOptions& m_options;
    Problems& m_problems;
    std::vector<Read> m_read;
    std::vector<std::pair<const PlacedAddress*, AddressFault>> m_faults;
    std::map<std::string, std::vector<std::string>> m_known;
    bool m_several = false;
};

/// Positions of a path's parts among their siblings, for comparing places. A key may itself contain
/// a dot, so the longest key that the path goes on with is taken.
std::vector<std::size_t> placeOf(std::string_view path, const json::Value& document) {
    std::vector<std::size_t> places;
    const json::Value* at = &document;
    while (!path.empty()) {
        std::size_t length = std::min(path.find('.'), path.size());
        std::size_t place = std::numeric_limits<std::size_t>::max();
        const json::Value* next = nullptr;
        if (at && at->isArray()) {
            std::from_chars(path.data(), path.data() + length, place);
            next = place < at->size() ? &at->items()[place] : nullptr;
        } else if (at && at->isObject()) {
            for (std::size_t i = 0; i < at->size(); ++i) {
                const std::string& key = at->members()[i].key;
                const bool fits = path == key || path.starts_with(key + ".");
                if (!fits || (next && key.size() < length))
                    continue;
                place = i;
                next = &at->members()[i].value;
                length = key.size();
            }
        }
        places.push_back(place);
        at = next;
        path.remove_prefix(std::min(length + 1, path.size()));
    }
    return places;
}

} // namespace

Problems addressProblems(const std::vector<PlacedAddress>& addresses, Hosts hosts,
                         AllLoopback allLoopback, const ValidateOptions& options) {
    Problems problems;
    AddressCheck(options, problems).run(addresses, hosts, allLoopback);
    return problems;
}

UseComplaint useComplaint(TaskType type, Use use) {
    if (type == TaskType::Ps && use != Use::Command)
        return {"A ps task has no place in mirrored training: it gets no rank, and TensorFlow "
                "would make every worker wait for ps 0 to coordinate the start.",
                "Remove it; mirrored workers exchange gradients among themselves. Only a command "
                "job may have one."};
    if (type == TaskType::Evaluator && use == Use::ModelJob)
        return {"A job with a model cannot start an evaluator yet.",
                "Remove it from the cluster for this job and give the job validation data; a "
                "command job may have one."};
    return {};
}

void sortByDocument(Problems& problems, const json::Value& document) {
    std::vector<std::pair<std::vector<std::size_t>, Problem>> placed;
    placed.reserve(problems.size());
    for (Problem& problem : problems)
        placed.emplace_back(placeOf(problem.path, document), std::move(problem));
    std::stable_sort(placed.begin(), placed.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < placed.size(); ++i)
        problems[i] = std::move(placed[i].second);
}

} // namespace lockstep::cluster::detail
