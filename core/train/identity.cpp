// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/train/identity.h"

#include "core/base/files.h"
#include "core/base/hash.h"
#include "core/base/json_reader.h"
#include "core/cluster/tf_config.h"

#include <algorithm>
#include <limits>

namespace lockstep::train {

namespace {

constexpr const char* kVariable = "TF_CONFIG";

void refuse(Problems& problems, std::string message, std::string expected, std::string hint) {
    problems.push_back({Severity::Error,
                        kVariable,
                        {},
                        0,
                        std::move(message),
                        std::move(expected),
                        std::move(hint)});
}

void placeInCluster(const cluster::TfConfig& config, Identity& identity) {
    if (config.isLocal()) {
        identity.members.push_back({identity.task, {}, 0});
        return;
    }
    identity.task = config.own()->text();
    identity.rank = config.rank();
    const cluster::TfConfig::Entry& own = *config.find(*config.own());
    identity.address = own.text;
    identity.workersHere = 0;
    for (const cluster::Rank& rank : config.ranks()) {
        const cluster::Address& address = config.find(rank.task)->address;
        const std::string host =
            address.zone.empty() ? address.host : address.host + "%" + address.zone;
        identity.members.push_back(
            {rank.task.text(), host, static_cast<std::uint16_t>(address.port)});
        if (address.hostKey() == own.address.hostKey())
            ++identity.workersHere;
    }
}

std::optional<collective::Secret> secretFromHex(const std::string& hex) {
    collective::Secret secret{};
    if (hex.size() != 2 * secret.size())
        return std::nullopt;
    for (std::size_t i = 0; i < hex.size(); ++i) {
        const char c = hex[i];
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0)
            return std::nullopt;
        secret[i / 2] = static_cast<std::uint8_t>(secret[i / 2] * 16 + digit);
    }
    return secret;
}

/// The launcher's spec.json: run, secret, attempt, task.
void readSpec(const std::string& path, const std::string& text, Identity& identity,
              Problems& problems) {
    const auto document = json::parse(text, path);
    if (!document) {
        problems.push_back({Severity::Error,
                            path,
                            {},
                            0,
                            document.error().message,
                            "what the launcher wrote",
                            {}});
        return;
    }
    const json::Reader spec(&*document, "", path, &problems);
    spec.require("format", "\"lockstep-spec\"").oneOf({"lockstep-spec"});
    spec.require("version", "1").integer(1, 1);
    const auto run = spec.require("run", "the run's id").string();
    const auto hex = spec.require("secret", "64 hex digits").string();
    const auto attempt =
        spec.require("attempt", "the attempt's number").integer(1, std::numeric_limits<int>::max());
    const auto task = spec.require("task", "this worker's task").string();
    if (task && *task != identity.task)
        spec.at("task").error("This folder was made for " + *task + ", but TF_CONFIG says " +
                                  identity.task + ".",
                              "the same task in both", "Start each worker with its own --run-dir.");
    const auto secret = hex ? secretFromHex(*hex) : std::nullopt;
    if (hex && !secret)
        spec.at("secret").error("The secret cannot be read.", "64 hex digits in lower case");
    if (!run || !attempt || !secret)
        return;
    identity.run = *run;
    identity.attempt = static_cast<int>(*attempt);
    identity.secret = *secret;
    identity.isAuthenticated = true;
}

} // namespace

std::vector<std::string> Identity::tasks() const {
    std::vector<std::string> names;
    for (const collective::Member& member : members)
        names.push_back(member.task);
    return names;
}

std::optional<Identity> identify(const Launch& launch, const std::string& jobHash,
                                 Problems& problems) {
    const std::size_t before = problems.size();
    const auto config =
        cluster::TfConfig::fromEnvironment(launch.tfConfig ? launch.tfConfig->c_str() : nullptr);
    if (!config) {
        refuse(problems, config.error().message, "a JSON object, or no variable at all", {});
        return std::nullopt;
    }
    cluster::ValidateOptions options;
    options.use = cluster::Use::ModelJob;
    options.file = kVariable;
    // A launcher that says which cluster it means has judged where its hosts are.
    options.hosts = launch.clusterHash ? cluster::Hosts::One : cluster::Hosts::Unknown;
    for (Problem& problem : cluster::validate(*config, options))
        problems.push_back(std::move(problem));
    if (hasErrors({problems.begin() + static_cast<std::ptrdiff_t>(before), problems.end()}))
        return std::nullopt;

    Identity identity;
    placeInCluster(*config, identity);
    identity.configHash = toHex(sha256(launch.tfConfig.value_or("")));
    identity.clusterHash = config->clusterHash();
    if (launch.expectedWorkers && *launch.expectedWorkers != identity.world())
        refuse(problems,
               config->isLocal()
                   ? "TF_CONFIG is not set or names no cluster, so this worker would train alone."
                   : "TF_CONFIG names " + std::to_string(identity.world()) + " workers.",
               std::to_string(*launch.expectedWorkers) + " workers, as --expect-workers says",
               "Set TF_CONFIG before the program starts, or correct the number.");
    if (launch.clusterHash && *launch.clusterHash != identity.clusterHash)
        refuse(problems, "The cluster in TF_CONFIG has the hash " + identity.clusterHash + ".",
               *launch.clusterHash + ", as --cluster-hash says",
               "All workers must be given the same cluster; launch again.");

    identity.run = "by-hand-" + toHex(sha256(identity.clusterHash + jobHash)).substr(0, 12);
    identity.secret = collective::deriveSecret(identity.clusterHash, jobHash);
    if (!launch.runDir.empty()) {
        const std::string path = launch.runDir + "/spec.json";
        const auto text = files::read(path, 1 << 20);
        if (text)
            readSpec(path, *text, identity, problems);
        else if (text.error().code != Code::NotFound)
            problems.push_back({Severity::Error, path, {}, 0, text.error().message, {}, {}});
    }
    if (hasErrors({problems.begin() + static_cast<std::ptrdiff_t>(before), problems.end()}))
        return std::nullopt;
    return identity;
}

} // namespace lockstep::train
