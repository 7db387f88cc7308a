// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/wire/event.h"

#include "core/base/json.h"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace lockstep::wire {

namespace {

using json::Value;

constexpr int kVersion = 1;

Value number(double value) {
    if (std::isnan(value))
        return "NaN";
    if (std::isinf(value))
        return value > 0 ? "Infinity" : "-Infinity";
    return value;
}

std::optional<double> toDouble(const Value& value) {
    if (value.isNumber())
        return value.toNumber();
    if (value == Value("NaN"))
        return std::numeric_limits<double>::quiet_NaN();
    if (value == Value("Infinity"))
        return std::numeric_limits<double>::infinity();
    if (value == Value("-Infinity"))
        return -std::numeric_limits<double>::infinity();
    return std::nullopt;
}

constexpr const char* kPhases[] = {"preparing", "joining", "training", "validating", "finishing"};
constexpr const char* kLevels[] = {"debug", "info", "warning", "error"};

template <class Enum, std::size_t N>
Enum fromName(const Value& value, const char* const (&names)[N], Enum fallback) {
    if (value.isString())
        for (std::size_t i = 0; i < N; ++i)
            if (value.toString() == names[i])
                return static_cast<Enum>(i);
    return fallback;
}

// Writer and ReaderOf walk the same list of fields (the visit functions below), so that encode and
// decode cannot disagree.
class Writer {
public:
    explicit Writer(Value& object)
        : m_object(object) {}

    void field(const char* key, std::string& v) { m_object.set(key, v); }
    void field(const char* key, int& v) { m_object.set(key, v); }
    void field(const char* key, std::int64_t& v) { m_object.set(key, v); }
    void field(const char* key, bool& v) { m_object.set(key, v); }
    void field(const char* key, double& v) { m_object.set(key, number(v)); }
    void field(const char* key, Stat& v) {
        m_object.set(key, Value::array({number(v.mean), number(v.min), number(v.max)}));
    }
    void field(const char* key, std::vector<std::string>& v) {
        m_object.set(key, Value(json::Array(v.begin(), v.end())));
    }
    void field(const char* key, std::vector<std::int64_t>& v) {
        m_object.set(key, Value(json::Array(v.begin(), v.end())));
    }
    void field(const char* key, NamedValues& v) {
        Value object = Value::object();
        for (const auto& [name, value] : v)
            object.set(name, number(value));
        m_object.set(key, object);
    }
    void field(const char* key, Phase& v) {
        m_object.set(key, kPhases[static_cast<std::size_t>(v)]);
    }
    void field(const char* key, Level& v) {
        m_object.set(key, kLevels[static_cast<std::size_t>(v)]);
    }

private:
    Value& m_object;
};

class ReaderOf {
public:
    explicit ReaderOf(const Value& object)
        : m_object(object) {}

    /// The first field that was missing or of another kind; empty when all were there.
    const std::string& fault() const { return m_fault; }

    void field(const char* key, std::string& v) {
        read(key, &Value::isString, [&](const Value& x) { v = x.toString(); });
    }
    void field(const char* key, int& v) {
        read(key, &Value::isInteger, [&](const Value& x) {
            if (std::in_range<int>(x.toInteger()))
                v = static_cast<int>(x.toInteger());
            else
                miss(key);
        });
    }
    void field(const char* key, std::int64_t& v) {
        read(key, &Value::isInteger, [&](const Value& x) { v = x.toInteger(); });
    }
    void field(const char* key, bool& v) {
        read(key, &Value::isBool, [&](const Value& x) { v = x.toBool(); });
    }
    void field(const char* key, double& v) {
        const Value* x = m_object.find(key);
        if (const auto value = x ? toDouble(*x) : std::nullopt)
            v = *value;
        else
            miss(key);
    }
    void field(const char* key, Stat& v) {
        read(key, &Value::isArray, [&](const Value& x) {
            std::vector<double> values;
            for (const Value& item : x.items())
                if (const auto value = toDouble(item))
                    values.push_back(*value);
            if (x.size() != 3 || values.size() != 3)
                return miss(key);
            v = {values[0], values[1], values[2]};
        });
    }
    void field(const char* key, std::vector<std::string>& v) {
        read(key, &Value::isArray, [&](const Value& x) {
            for (const Value& item : x.items())
                item.isString() ? v.push_back(item.toString()) : miss(key);
        });
    }
    void field(const char* key, std::vector<std::int64_t>& v) {
        read(key, &Value::isArray, [&](const Value& x) {
            for (const Value& item : x.items())
                item.isInteger() ? v.push_back(item.toInteger()) : miss(key);
        });
    }
    void field(const char* key, NamedValues& v) {
        read(key, &Value::isObject, [&](const Value& x) {
            for (const json::Member& member : x.members()) {
                if (const auto value = toDouble(member.value))
                    v.emplace_back(member.key, *value);
                else
                    miss(key);
            }
        });
    }
    void field(const char* key, Phase& v) {
        read(key, &Value::isString, [&](const Value& x) { v = fromName(x, kPhases, v); });
    }
    void field(const char* key, Level& v) {
        read(key, &Value::isString, [&](const Value& x) { v = fromName(x, kLevels, v); });
    }

private:
    template <class Use>
    void read(const char* key, bool (Value::*is)() const, Use use) {
        const Value* value = m_object.find(key);
        if (value && (value->*is)())
            use(*value);
        else
            miss(key);
    }
    void miss(const char* key) {
        if (m_fault.empty())
            m_fault = key;
    }

    const Value& m_object;
    std::string m_fault;
};

template <class Visitor>
void visit(Visitor& v, Started& e) {
    v.field("task", e.task);
    v.field("rank", e.rank);
    v.field("world", e.world);
    v.field("run", e.run);
    v.field("attempt", e.attempt);
    v.field("host", e.host);
    v.field("address", e.address);
    v.field("version", e.version);
    v.field("config_hash", e.configHash);
    v.field("cluster_hash", e.clusterHash);
    v.field("authenticated", e.authenticated);
    v.field("threads", e.threads);
}

template <class Visitor>
void visit(Visitor& v, PhaseChanged& e) {
    v.field("phase", e.phase);
    v.field("waiting_for", e.waitingFor);
    v.field("deadline_seconds", e.deadlineSeconds);
}

template <class Visitor>
void visit(Visitor& v, Planned& e) {
    v.field("parameters", e.parameters);
    v.field("trainable", e.trainable);
    v.field("train_rows", e.trainRows);
    v.field("validation_rows", e.validationRows);
    v.field("global_batch", e.globalBatch);
    v.field("steps_per_epoch", e.stepsPerEpoch);
    v.field("epochs", e.epochs);
    v.field("bytes_per_all_reduce", e.bytesPerAllReduce);
    v.field("bucket_bytes", e.bucketBytes);
    v.field("algorithm", e.algorithm);
    v.field("shard_policy", e.shardPolicy);
}

template <class Visitor>
void visit(Visitor& v, Steps& e) {
    v.field("epoch", e.epoch);
    v.field("first", e.first);
    v.field("last", e.last);
    v.field("rows", e.rows);
    v.field("own_rows", e.ownRows);
    v.field("seconds", e.seconds);
    v.field("learning_rate", e.learningRate);
    v.field("loss", e.loss);
    v.field("input_ms", e.inputMs);
    v.field("compute_ms", e.computeMs);
    v.field("all_reduce_ms", e.allReduceMs);
    v.field("all_reduce_wait_ms", e.allReduceWaitMs);
    v.field("update_ms", e.updateMs);
    v.field("total_ms", e.totalMs);
}

template <class Visitor>
void visit(Visitor& v, EpochEnded& e) {
    v.field("epoch", e.epoch);
    v.field("step", e.step);
    v.field("seconds", e.seconds);
    v.field("values", e.values);
    v.field("digest", e.digest);
}

template <class Visitor>
void visit(Visitor& v, FileWritten& e) {
    v.field("kind", e.kind);
    v.field("path", e.path);
    v.field("bytes", e.bytes);
    v.field("sha256", e.sha256);
}

template <class Visitor>
void visit(Visitor& v, Failed& e) {
    v.field("task", e.task);
    v.field("host", e.host);
    v.field("code", e.code);
    v.field("verdict", e.verdict);
    v.field("reason", e.reason);
}

template <class Visitor>
void visit(Visitor& v, Finished& e) {
    v.field("digest", e.digest);
    v.field("steps", e.steps);
    v.field("rows", e.rows);
    v.field("seconds", e.seconds);
    v.field("input_ms", e.inputMs);
    v.field("compute_ms", e.computeMs);
    v.field("all_reduce_wait_ms", e.allReduceWaitMs);
    v.field("update_ms", e.updateMs);
    v.field("total_ms", e.totalMs);
}

template <class Visitor>
void visit(Visitor& v, Logged& e) {
    v.field("level", e.level);
    v.field("text", e.text);
}

// Names in the order of Body's alternatives; Unknown has none.
constexpr const char* kEventNames[] = {"started", "phase",  "planned",  "steps", "epoch",
                                       "file",    "failed", "finished", "log"};
static_assert(std::size(kEventNames) + 1 == std::variant_size_v<Body>);

template <std::size_t I = 0>
Result<Body> decodeBody(std::string_view name, const Value& object, std::string_view line) {
    if constexpr (I < std::size(kEventNames)) {
        if (name != kEventNames[I])
            return decodeBody<I + 1>(name, object, line);
        std::variant_alternative_t<I, Body> body;
        ReaderOf reader(object);
        visit(reader, body);
        if (!reader.fault().empty())
            return Error{Code::Corrupt,
                         "The event \"" + std::string(name) + "\" lacks a right \"" +
                             reader.fault() + "\".",
                         "event"};
        return Body(std::move(body));
    } else {
        return Body(Unknown{std::string(line)});
    }
}

} // namespace

std::string encode(const Event& event) {
    if (const auto* unknown = std::get_if<Unknown>(&event.body))
        return unknown->line + "\n";
    Value object = Value::object(
        {{"v", kVersion}, {"event", kEventNames[event.body.index()]}, {"t", event.time}});
    std::visit(
        [&](auto body) {
            if constexpr (!std::is_same_v<decltype(body), Unknown>) {
                Writer writer(object);
                visit(writer, body);
            }
        },
        event.body);
    return json::dump(object) + "\n";
}

Result<Event> decode(std::string_view line) {
    auto parsed = json::parse(line, "event");
    if (!parsed)
        return Error{Code::Corrupt, parsed.error().message, "event"};
    const Value* version = parsed->find("v");
    const Value* name = parsed->find("event");
    const Value* time = parsed->find("t");
    if (!version || !version->isInteger() || !name || !name->isString() || !time ||
        !time->isNumber())
        return Error{Code::Corrupt, "This line is not an event; expected v, event and t.", "event"};
    if (version->toInteger() < 1)
        return Error{Code::Corrupt,
                     "This event has version " + std::to_string(version->toInteger()) +
                         "; expected 1.",
                     "event"};
    if (version->toInteger() != kVersion)
        return Error{Code::NewerFormat,
                     "This event has version " + std::to_string(version->toInteger()) +
                         "; this program reads version 1.",
                     "event"};
    auto body = decodeBody(name->toString(), *parsed, line);
    if (!body)
        return body.error();
    return Event{time->toNumber(), std::move(*body)};
}

std::vector<std::string> LineSplitter::add(std::string_view bytes) {
    constexpr std::size_t kLongestLine = 16u << 20;
    std::vector<std::string> lines;
    while (!bytes.empty()) {
        const std::size_t end = bytes.find('\n');
        const bool complete = end != std::string_view::npos;
        if (!m_skipping)
            m_rest += bytes.substr(0, end);
        bytes.remove_prefix(complete ? end + 1 : bytes.size());
        if (m_rest.size() > kLongestLine) {
            m_rest.clear();
            m_skipping = true;
            ++m_dropped;
        }
        if (!complete)
            break;
        if (!m_skipping)
            lines.push_back(std::move(m_rest));
        m_rest.clear();
        m_skipping = false;
    }
    return lines;
}

} // namespace lockstep::wire
