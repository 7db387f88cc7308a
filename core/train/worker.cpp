// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/train/worker.h"

#include "core/base/failure.h"
#include "core/base/files.h"
#include "core/base/hash.h"
#include "core/collective/join.h"
#include "core/job/batching.h"
#include "core/train/cores.h"
#include "core/train/fit.h"

#include <unistd.h>

#include <chrono>
#include <cstring>
#include <new>
#include <optional>

namespace lockstep::train {

namespace {

json::Value compileOf(const Prepared& prepared) {
    const json::Value* compile = prepared.job.document.find("compile");
    return compile ? *compile : json::Value();
}

/// One for each layer of the model's JSON, also where that gives none.
json::Value layerNamesOf(const Prepared& prepared) {
    json::Value names = json::Value::array();
    for (const nn::Layer& layer : prepared.graph->layers())
        names.append(layer.name);
    return names;
}

/// Of a row.
json::Value inputShapeOf(const Prepared& prepared) {
    json::Value dims = json::Value::array();
    for (const std::int64_t dim : prepared.graph->inputShape().dims())
        dims.append(dim);
    return dims;
}

std::chrono::milliseconds milliseconds(double seconds) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

std::string hostName() {
    char name[256] = {};
    return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

class Worker {
public:
    Worker(const Launch& launch, const Surroundings& surroundings, Prepared prepared,
           Identity identity, std::unique_ptr<EventLog> events)
        : m_launch(launch)
        , m_surroundings(surroundings)
        , m_prepared(std::move(prepared))
        , m_identity(std::move(identity))
        , m_events(std::move(events)) {}

    Outcome run() {
        try {
            train();
            return Outcome::Done;
        } catch (const Failure& failure) {
            report(failure.error());
        } catch (const std::bad_alloc&) {
            report({Code::OutOfMemory, "There is not enough memory for the model and its batches.",
                    m_identity.task});
        } catch (const std::exception& exception) {
            report({Code::Internal, exception.what(), m_identity.task});
        }
        return Outcome::Failed;
    }

private:
    void train() {
        const int threads = m_prepared.job.threadsPerWorker > 0
                                ? static_cast<int>(m_prepared.job.threadsPerWorker)
                                : shareOfCores(usableCores(), m_identity.workersHere);
        m_events->write(wire::Started{m_identity.task, m_identity.rank, m_identity.world(),
                                      m_identity.run, m_identity.attempt, hostName(),
                                      m_identity.address, m_launch.version, m_identity.configHash,
                                      m_identity.clusterHash, m_identity.isAuthenticated, threads});
        if (!m_identity.isAuthenticated && m_identity.world() > 1)
            say(wire::Level::Warning,
                "there is no secret for this run, so the peers are not authenticated");
        m_group = join();
        // Stop must also end a wait in a collective, so it does not pass through the loop.
        const std::stop_callback onStop(m_surroundings.stop, [this] {
            m_group->abort(collective::Farewell::Stopped, m_identity.task + " was stopped.");
        });
        agree();
        m_events->write(planOf(m_prepared, m_identity.world()));
        nn::Network network(*m_prepared.graph, *m_prepared.compile, m_prepared.job.seed);
        FitOptions options{threads, m_identity.tasks(), {}};
        if (m_identity.rank == 0)
            options.console = m_surroundings.out;
        FitResult result = fit(m_prepared, network, *m_group, *m_events, options);
        m_events->write(wire::PhaseChanged{wire::Phase::Finishing, {}, 0});
        if (m_identity.rank == 0)
            exportModel(network, result);
        m_group->leave();
        m_events->write(std::move(result.summary));
    }

    std::unique_ptr<collective::Group> join() {
        const job::Communication& communication = m_prepared.job.communication;
        collective::JoinOptions options;
        options.rank = m_identity.rank;
        options.members = m_identity.members;
        options.runId = m_identity.run;
        options.attempt = m_identity.attempt;
        options.clusterHash = m_identity.clusterHash;
        options.secret = m_identity.secret;
        options.joinTimeout = milliseconds(communication.joinTimeoutSeconds);
        options.heartbeatTimeout = milliseconds(communication.heartbeatTimeoutSeconds);
        options.collectiveTimeout = milliseconds(communication.timeoutSeconds);
        options.stop = m_surroundings.stop;
        options.onWaiting = [this](const std::vector<collective::Missing>& missing,
                                   double secondsLeft) {
            wire::PhaseChanged phase{wire::Phase::Joining, {}, secondsLeft};
            std::string names;
            for (const collective::Missing& peer : missing) {
                phase.waitingFor.push_back(peer.task);
                names += (names.empty() ? "" : ", ") + peer.task + " (" + peer.address + ")";
            }
            m_events->write(std::move(phase));
            if (names != m_lastWaiting && !names.empty())
                say(wire::Level::Info, "waiting for " + names);
            m_lastWaiting = names;
        };
        auto group = collective::join(options);
        if (group->size() > 1)
            say(wire::Level::Info, "joined as rank " + std::to_string(group->rank()) + " of " +
                                       std::to_string(group->size()));
        return group;
    }

    /// All ranks must have the same program, job and data: else they would train different things.
    void agree() {
        struct Card {
            Sha256 version;
            Sha256 job;
            Sha256 data;
        };
        const Card own{sha256(m_launch.version),
                       sha256(json::dump(m_prepared.job.document) + json::dump(m_prepared.model)),
                       sha256(hashOf(m_prepared.train, m_prepared.validation))};
        const auto cards = m_group->allGather(std::as_bytes(std::span(&own, 1)));
        for (std::size_t rank = 1; rank < cards.size(); ++rank) {
            Card chief;
            Card other;
            std::memcpy(&chief, cards[0].data(), sizeof chief);
            std::memcpy(&other, cards[rank].data(), sizeof other);
            const std::string& task = m_identity.members[rank].task;
            const auto refuse = [&](const std::string& what) {
                throw Failure(Code::InvalidArgument,
                              task + " has " + what + " than " + m_identity.members[0].task +
                                  ". All workers must be given the same; launch them again.",
                              task);
            };
            if (other.version != chief.version)
                refuse("another version of lockstep-worker");
            if (other.job != chief.job)
                refuse("another job");
            if (other.data != chief.data)
                refuse("other data (in number, order or value of rows)");
        }
    }

    void exportModel(const nn::Network& network, const FitResult& result) {
        if (m_launch.runDir.empty()) {
            say(wire::Level::Warning, "the model is not saved, since no --run-dir was given");
            return;
        }
        const char* const name = "model.safetensors";
        const auto written = writeModel(network, result.optimizer, m_launch.runDir + "/" + name,
                                        {{"format", "lockstep-model"},
                                         {"run", m_identity.run},
                                         {"job", m_prepared.job.name},
                                         {"digest", toHex(result.digest)},
                                         {"keras_model", json::dump(m_prepared.model)},
                                         {"keras_compile", json::dump(compileOf(m_prepared))},
                                         {"layers", json::dump(layerNamesOf(m_prepared))},
                                         {"input_shape", json::dump(inputShapeOf(m_prepared))}});
        if (!written)
            throw Failure(written.error());
        m_events->write(wire::FileWritten{"model", name, written->bytes, written->sha256});
    }

    void say(wire::Level level, const std::string& text) {
        if (m_surroundings.err)
            m_surroundings.err(m_identity.task + ": " + text);
        m_events->write(wire::Logged{level, text});
    }

    wire::Failed failedEvent(const Error& error) const {
        if (m_surroundings.stop.stop_requested())
            return {m_identity.task, m_identity.address, codeName(Code::Cancelled), "stopped",
                    m_identity.task + " was stopped."};
        if (const auto verdict = m_group ? m_group->verdict() : std::nullopt)
            return {verdict->task, verdict->address, codeName(error.code),
                    verdict->rank == m_identity.rank ? "own" : collective::kindName(verdict->kind),
                    verdict->sentence};
        if (!m_group && error.code == Code::TimedOut)
            return {error.where, {}, codeName(error.code), "not_joined", error.message};
        if (!m_group && error.code == Code::Unauthenticated)
            return {error.where, {}, codeName(error.code), "refused", error.message};
        if (!m_group && error.code == Code::Cancelled)
            return {error.where, {}, codeName(error.code), "stopped", error.message};
        if (!m_group && error.code == Code::PeerLost)
            return {error.where, {}, codeName(error.code), "failed", error.message};
        return {m_identity.task, m_identity.address, codeName(error.code), "own", describe(error)};
    }

    void report(const Error& error) {
        try {
            const wire::Failed failed = failedEvent(error);
            if (m_group && failed.verdict == "own")
                m_group->abort(collective::Farewell::Failed, failed.reason);
            if (m_surroundings.err)
                m_surroundings.err(m_identity.task + ": " + failed.reason);
            m_events->write(failed);
        } catch (const std::exception& exception) { // a full disk, say: the exit code must do
            if (m_surroundings.err)
                m_surroundings.err(m_identity.task + ": " + exception.what());
        }
    }

    const Launch& m_launch;
    const Surroundings& m_surroundings;
    Prepared m_prepared;
    Identity m_identity;
    std::unique_ptr<EventLog> m_events;
    std::unique_ptr<collective::Group> m_group;
    std::string m_lastWaiting;
};

/// Says all problems; true where one is an error. The first error becomes the Failed event.
bool refuse(const Problems& problems, const std::string& task, EventLog& events,
            const Surroundings& surroundings) {
    for (const Problem& problem : problems)
        if (surroundings.err)
            surroundings.err(describe(problem));
    if (!hasErrors(problems))
        return false;
    for (const Problem& problem : problems)
        if (problem.severity == Severity::Error) {
            events.write(
                wire::Failed{task, {}, codeName(Code::InvalidArgument), "own", describe(problem)});
            break;
        }
    return true;
}

} // namespace

Outcome runWorker(const Launch& launch, const Surroundings& surroundings) {
    const auto say = [&](const std::string& line) {
        if (surroundings.err)
            surroundings.err(line);
    };
    try {
        if (!launch.runDir.empty())
            if (const auto writable = files::checkWritable(launch.runDir); !writable) {
                say(describe(writable.error()));
                return Outcome::WrongInput;
            }
        auto events = EventLog::open(launch.runDir);
        if (!events) {
            say(describe(events.error()));
            return Outcome::WrongInput;
        }
        const auto jobText = files::read(launch.jobFile);
        auto prepared = jobText ? prepare(launch.jobFile) : Result<Prepared>(jobText.error());
        if (!prepared) {
            say(describe(prepared.error()));
            return Outcome::WrongInput;
        }
        Problems problems = prepared->problems;
        if (prepared->job.kind != job::JobKind::Model)
            problems.push_back(job::problemAt(
                prepared->job, "kind", "This job starts a program of its own.",
                "a job with a model", "Only model jobs are trained by lockstep-worker."));
        auto identity = identify(launch, toHex(sha256(*jobText)), problems);
        if (identity)
            for (Problem& problem :
                 job::checkReplicas(prepared->job, identity->world(), prepared->train.size()))
                problems.push_back(std::move(problem));
        if (refuse(problems, identity ? identity->task : "", **events, surroundings) || !identity ||
            !prepared->isReady())
            return Outcome::WrongInput;
        return Worker(launch, surroundings, std::move(*prepared), std::move(*identity),
                      std::move(*events))
            .run();
    } catch (const std::exception& exception) {
        say(exception.what());
        return Outcome::Failed;
    }
}

} // namespace lockstep::train
