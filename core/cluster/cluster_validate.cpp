// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// What is wrong with a saved cluster, field by field and of its tasks together.

#include "core/base/json_reader.h"
#include "core/cluster/cluster_spec.h"
#include "core/cluster/detail/checks.h"

#include <algorithm>
#include <map>
#include <set>

namespace lockstep::cluster {

namespace {

bool hasBlankOrControl(std::string_view text) {
    return std::any_of(text.begin(), text.end(),
                       [](unsigned char c) { return c <= ' ' || c == 0x7f; });
}

bool isVariableName(const std::string& name) {
    const auto isLetter = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    return !name.empty() && isLetter(name.front()) &&
           std::all_of(name.begin(), name.end(),
                       [&](char c) { return isLetter(c) || (c >= '0' && c <= '9'); });
}

/// The same for two SSH destinations of one machine, as far as their texts tell: without the user.
/// Behind one address with forwarded ports stand several machines, so the port counts.
std::string machineOf(const json::Value* ssh) {
    if (!ssh || ssh->isNull())
        return {};
    const auto member = [&](std::string_view key) {
        const json::Value* value = ssh->find(key);
        return !value ? std::string() : value->isString() ? value->toString() : json::dump(*value);
    };
    if (!ssh->isString())
        return hostKeyOf(member("host")) + ":" + member("port");
    std::string_view text = ssh->toString();
    if (text.starts_with("ssh://"))
        text.remove_prefix(6);
    if (const std::size_t at = text.rfind('@'); at != std::string_view::npos)
        text.remove_prefix(at + 1);
    return hostKeyOf(text) + (ssh->toString().starts_with("ssh://") ? "" : ":");
}

class Check {
public:
    Check(const ClusterSpec& spec, const ValidateOptions& options)
        : m_spec(spec)
        , m_options(options)
        , m_root(&spec.document(), "", options.file, &m_problems) {}

    Problems run() {
        if (!m_root.isObject())
            return std::move(m_problems);
        m_root.warnUnknown({"format", "version", "name", "workers"});
        m_root.at("name").string();
        const json::Reader workers =
            m_root.require("workers", "an array of workers, each with \"ssh\" and \"address\"");
        if (workers.exists() && workers.isAbsent())
            workers.wrongKind("an array of workers");
        const std::vector<json::Reader> items = workers.items();
        if (workers.exists() && workers.value()->isArray() && items.empty())
            workers.error("The cluster has no worker.", "at least one",
                          "Add a worker; \"ssh\": null runs it on this machine.");
        for (const json::Reader& item : items)
            checkWorker(item);
        if (!items.empty() && !m_hasTraining)
            workers.error("The cluster has no chief and no worker, so nobody trains.",
                          "at least one task of type chief or worker");
        checkTogether();
        detail::sortByDocument(m_problems, m_spec.document());
        return std::move(m_problems);
    }

private:
    void checkWorker(const json::Reader& worker) {
        if (worker.isAbsent() || !worker.isObject()) {
            if (worker.isAbsent())
                worker.wrongKind("an object with \"ssh\" and \"address\"");
            return;
        }
        worker.warnUnknown({"name", "ssh", "address", "task", "env", "devices", "base"});
        checkName(worker.at("name"));
        checkTask(worker.at("task"));
        checkSsh(worker.at("ssh"));
        checkAddress(worker.require("address", "\"host:port\", where this worker listens"));
        checkEnv(worker.at("env"));
        checkDevices(worker.at("devices"));
        checkBase(worker.at("base"));
    }

    void checkName(const json::Reader& reader) {
        const auto name = reader.string();
        if (!name)
            return;
        if (std::any_of(name->begin(), name->end(),
                        [](unsigned char c) { return c < ' ' || c == 0x7f; }))
            reader.error("The name contains a control character.", "one line of text");
        const auto [first, isNew] = m_names.emplace(*name, reader.path());
        if (!isNew && !name->empty())
            reader.warning("The name \"" + *name + "\" is also that of " + first->second + ".", {},
                           "Give each worker its own name, so that messages tell them apart.");
    }

    void checkTask(const json::Reader& reader) {
        TaskType type = TaskType::Worker;
        if (!reader.isAbsent()) {
            if (reader.value()->isString() && TaskId::parse(reader.value()->toString()).ok()) {
                const std::string text = reader.value()->toString();
                reader.error("\"" + text +
                                 "\" has an index, which is never written: it follows "
                                 "from the order of the workers.",
                             json::listOr(typeNames()),
                             "Write \"" + text.substr(0, text.find(':')) +
                                 "\" and move the worker to its place.");
                return;
            }
            const auto name = reader.oneOf(typeNames());
            if (!name)
                return;
            type = *typeFromName(*name);
        }
        m_hasTraining = m_hasTraining || type == TaskType::Chief || type == TaskType::Worker;
        const auto complaint = detail::useComplaint(type, m_options.use);
        if (!complaint.message.empty())
            reader.error(complaint.message, {}, complaint.hint);
        if (type != TaskType::Chief && type != TaskType::Evaluator)
            return;
        const auto [first, isNew] = m_single.emplace(type, reader.path());
        if (!isNew)
            reader.error("There is a second " + std::string(typeName(type)) + "; the first is " +
                             first->second + ".",
                         std::string("at most one ") + typeName(type), "Make this one a worker.");
    }

    void checkSsh(const json::Reader& reader) {
        m_machines.insert(machineOf(reader.value()));
        const std::string expected = "a destination as ssh takes it (\"alice@n0\"), an object with "
                                     "\"host\", or null for this machine";
        if (!reader.exists()) {
            reader.warning("\"ssh\" is missing; the worker is taken to run on this machine.",
                           expected, "Write \"ssh\": null to say so.");
            return;
        }
        if (reader.isAbsent())
            return;
        m_allHere = false;
        const json::Value& value = *reader.value();
        if (value.isObject()) {
            checkSshParts(reader);
            return;
        }
        if (!value.isString()) {
            reader.wrongKind(expected);
            return;
        }
        checkDestination(reader, value.toString(), expected);
    }

    static void checkDestination(const json::Reader& reader, const std::string& text,
                                 const std::string& expected) {
        if (text.empty())
            reader.error("The SSH destination is empty.", expected);
        else if (hasBlankOrControl(text))
            reader.error("The SSH destination \"" + text + "\" contains a blank.", expected,
                         "Options belong into ~/.ssh/config; name the alias here.");
        else if (text.front() == '-' || text.find("@-") != std::string::npos)
            reader.error("The SSH destination \"" + text + "\" begins with \"-\".", expected);
        else if (text.ends_with('@'))
            reader.error("The SSH destination \"" + text + "\" has no host.", expected);
    }

    void checkSshParts(const json::Reader& reader) {
        reader.warnUnknown({"host", "user", "port", "identity_file", "proxy_jump"});
        const json::Reader host = reader.require("host", "a host name or alias");
        if (const auto text = host.string())
            checkDestination(host, *text, "a host name or alias");
        else if (host.exists() && host.isAbsent())
            host.wrongKind("a host name or alias");
        if (const auto user = reader.at("user").string())
            if (user->empty() || hasBlankOrControl(*user) || user->front() == '-')
                reader.at("user").error("\"" + *user + "\" is no user name.", "a user name");
        reader.at("port").integer(1, 65535);
        reader.at("identity_file").string();
        reader.at("proxy_jump").string();
    }

    void checkAddress(const json::Reader& reader) {
        if (!reader.exists())
            return;
        if (reader.value()->isString())
            m_addresses.push_back({reader.path(), reader.line(), reader.value()->toString()});
        else
            reader.wrongKind("a \"host:port\" text, where this worker listens");
    }

    static void checkEnv(const json::Reader& reader) {
        for (const auto& [name, variable] : reader.members()) {
            if (!isVariableName(name))
                variable.error("\"" + name + "\" is no name of an environment variable.",
                               "letters, digits and \"_\", not beginning with a digit");
            else if (name == "TF_CONFIG" || name.starts_with("LOCKSTEP_"))
                variable.error(name + " is set by Lockstep for each task.", {}, "Remove it here.");
            const json::Value& value = *variable.value();
            if (!value.isString())
                variable.error("The value of " + name + " is " + json::nameOf(value) + ".",
                               "a text",
                               value.isNumber() || value.isBool()
                                   ? "Put it in quotes: \"" + json::dump(value) + "\"."
                                   : "");
            else if (value.toString().find('\0') != std::string::npos)
                variable.error("The value contains a zero byte, which no environment can hold.",
                               "a text without it");
        }
    }

    static void checkDevices(const json::Reader& reader) {
        if (reader.isAbsent())
            return;
        const std::string expected =
            "\"cpu\", or an array with the numbers of GPUs, such as [0, 1]";
        const json::Value& value = *reader.value();
        if (value.isString() && value.toString() == "cpu")
            return;
        if (!value.isArray()) {
            reader.error("The devices are " + json::nameOf(value) + ".", expected,
                         "Leave \"devices\" out to use all of the host's.");
            return;
        }
        if (value.size() == 0)
            reader.error("The list of devices is empty.", expected,
                         "Leave \"devices\" out to use all of the host's, or write \"cpu\".");
        std::set<std::int64_t> seen;
        for (const json::Reader& item : reader.items()) {
            if (item.isAbsent())
                item.wrongKind(expected);
            const auto number = item.integer(0, 1023);
            if (number && !seen.insert(*number).second)
                item.error("Device " + std::to_string(*number) + " is listed twice.",
                           "each device once");
        }
    }

    static void checkBase(const json::Reader& reader) {
        const auto base = reader.string();
        if (base && (!base->starts_with('/') || base->find('\0') != std::string::npos))
            reader.error(
                "\"" + *base + "\" is not an absolute path.",
                "a folder on the host, beginning with \"/\"",
                "\"~\" and variables are not expanded; leave \"base\" out for the default.");
    }

    void checkTogether() {
        const Hosts hosts = m_machines.size() > 1 ? Hosts::Several : Hosts::Unknown;
        const auto loopback = m_allHere ? detail::AllLoopback::Fine : detail::AllLoopback::Warn;
        for (Problem& problem : detail::addressProblems(m_addresses, hosts, loopback, m_options))
            m_problems.push_back(std::move(problem));
    }

    const ClusterSpec& m_spec;
    const ValidateOptions& m_options;
    Problems m_problems;
    json::Reader m_root;
    std::vector<detail::PlacedAddress> m_addresses;
    std::map<std::string, std::string> m_names;
    std::map<TaskType, std::string> m_single; ///< chief and evaluator: the path of the first
    std::set<std::string> m_machines;
    bool m_allHere = true;
    bool m_hasTraining = false;
};

} // namespace

Problems validate(const ClusterSpec& spec, const ValidateOptions& options) {
    return Check(spec, options).run();
}

} // namespace lockstep::cluster
