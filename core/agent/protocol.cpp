// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/agent/protocol.h"

#include "core/agent/detail/fields.h"
#include "core/agent/detail/lines.h"
#include "core/base/base64.h"

#include <csignal>
#include <cstring>

namespace lockstep::agent {

namespace {

using detail::decodeReply;
using detail::decodeRequest;
using detail::Fields;
using detail::line;
using json::Value;

constexpr const char* kFormat = "lockstep-state";
constexpr int kVersion = 1;
constexpr const char* kPhases[] = {"running", "exited", "lost"};

Value fromPairs(const Pairs& pairs) {
    Value object = Value::object();
    for (const auto& [key, value] : pairs)
        object.set(key, value);
    return object;
}

Value fromStrings(const std::vector<std::string>& strings) {
    return Value(json::Array(strings.begin(), strings.end()));
}

Value fromIdentity(const Identity& identity) {
    return Value::object({{"pid", identity.pid}, {"start_time", identity.startTime}});
}

Value fromNames(const std::vector<ProcessName>& names) {
    Value array = Value::array();
    for (const auto& [pid, name] : names)
        array.append(Value::object({{"pid", pid}, {"name", name}}));
    return array;
}

Identity identityIn(Fields& parent, const char* key) {
    Fields fields = parent.object(key);
    const std::int64_t pid = fields.integer("pid");
    return {pid, static_cast<std::uint64_t>(fields.integer("start_time"))};
}

std::vector<ProcessName> namesIn(Fields& parent, const char* key) {
    std::vector<ProcessName> names;
    for (Fields& entry : parent.objects(key)) {
        const std::int64_t pid = entry.integer("pid");
        names.push_back({pid, entry.string("name")});
    }
    return names;
}

Value fromState(const ProcessState& state) {
    Value value = Value::object({{"format", kFormat},
                                 {"version", kVersion},
                                 {"state", kPhases[static_cast<std::size_t>(state.phase)]},
                                 {"run", state.run},
                                 {"task", state.task},
                                 {"attempt", state.attempt},
                                 {"process", fromIdentity(state.process)},
                                 {"supervisor", fromIdentity(state.supervisor)},
                                 {"boot_id", state.bootId},
                                 {"program", state.program},
                                 {"started_at", state.startedAt}});
    if (state.endedAt)
        value.set("ended_at", *state.endedAt);
    if (state.exitCode)
        value.set("exit_code", *state.exitCode);
    if (state.signal)
        value.set("signal", *state.signal);
    if (state.problem)
        value.set("problem", *state.problem);
    return value;
}

ProcessState stateFrom(Fields& fields) {
    ProcessState state;
    state.phase = static_cast<Phase>(fields.choice("state", kPhases));
    state.run = fields.string("run");
    state.task = fields.string("task");
    state.attempt = static_cast<int>(fields.integer("attempt"));
    state.process = identityIn(fields, "process");
    state.supervisor = identityIn(fields, "supervisor");
    state.bootId = fields.string("boot_id");
    state.program = fields.string("program");
    state.startedAt = fields.number("started_at");
    if (fields.has("ended_at"))
        state.endedAt = fields.number("ended_at");
    if (fields.has("exit_code"))
        state.exitCode = static_cast<int>(fields.integer("exit_code"));
    if (fields.has("signal"))
        state.signal = static_cast<int>(fields.integer("signal"));
    if (fields.has("problem"))
        state.problem = fields.string("problem");
    return state;
}

} // namespace

namespace detail {

std::string line(const Value& value) {
    return json::dump(value) + '\n';
}

Result<Value> parseReply(std::string_view text) {
    auto parsed = json::parse(text, "reply of the agent");
    if (!parsed)
        return Error{Code::Corrupt, parsed.error().message, parsed.error().where};
    const Value* ok = parsed->find("ok");
    if (ok && ok->isBool() && !ok->toBool() && parsed->contains("message")) {
        Fields fields(*parsed, "reply of the agent", Code::Corrupt);
        Error error;
        error.code = codeFromName(fields.string("code"));
        error.message = fields.string("message");
        error.where = fields.optionalString("where");
        LOCKSTEP_TRY(fields.status());
        return error;
    }
    return parsed;
}

} // namespace detail

std::string describe(const ProcessState& state) {
    if (state.phase == Phase::Running)
        return "running";
    if (state.problem)
        return *state.problem;
    if (state.signal) {
        const char* name = ::sigabbrev_np(*state.signal);
        return "killed by signal " + std::to_string(*state.signal) +
               (name ? " (SIG" + std::string(name) + ")" : std::string());
    }
    if (state.exitCode)
        return "exit code " + std::to_string(*state.exitCode);
    return state.phase == Phase::Lost ? "lost" : "over";
}

std::string encode(const Error& error) {
    return line(Value::object({{"ok", false},
                               {"code", codeName(error.code)},
                               {"message", error.message},
                               {"where", error.where}}));
}

std::string encode(const SuperviseRequest& r) {
    return line(Value::object({{"run_dir", r.runDir},
                               {"run", r.run},
                               {"task", r.task},
                               {"attempt", r.attempt},
                               {"program", r.program},
                               {"args", fromStrings(r.args)},
                               {"env", fromPairs(r.env)},
                               {"env_files", fromPairs(r.envFiles)},
                               {"cwd", r.cwd}}));
}

Result<SuperviseRequest> decodeSuperviseRequest(std::string_view text) {
    return decodeRequest<SuperviseRequest>(text, [](Fields& fields) {
        SuperviseRequest r;
        r.runDir = fields.absolutePath("run_dir");
        r.run = fields.nonEmpty("run");
        r.task = fields.nonEmpty("task");
        r.attempt = static_cast<int>(fields.integer("attempt", 1, 1'000'000));
        r.program = fields.nonEmpty("program");
        r.args = fields.strings("args");
        r.env = fields.pairs("env");
        r.envFiles = fields.pairs("env_files");
        r.cwd = fields.optionalString("cwd");
        return r;
    });
}

std::string encode(const SuperviseReply& r) {
    return line(Value::object({{"ok", true},
                               {"pid", r.process.pid},
                               {"process", fromIdentity(r.process)},
                               {"supervisor", fromIdentity(r.supervisor)},
                               {"dropped", fromStrings(r.dropped)}}));
}

Result<SuperviseReply> decodeSuperviseReply(std::string_view text) {
    return decodeReply<SuperviseReply>(text, [](Fields& fields) {
        const Identity process = identityIn(fields, "process");
        const Identity supervisor = identityIn(fields, "supervisor");
        return SuperviseReply{process, supervisor, fields.strings("dropped")};
    });
}

std::string encode(const FollowRequest& r) {
    Value offsets = Value::object();
    for (const auto& [file, offset] : r.offsets)
        offsets.set(file, offset);
    return line(Value::object(
        {{"run_dir", r.runDir}, {"offsets", offsets}, {"chunk_bytes", r.chunkBytes}}));
}

Result<FollowRequest> decodeFollowRequest(std::string_view text) {
    return decodeRequest<FollowRequest>(text, [](Fields& fields) {
        FollowRequest r;
        r.runDir = fields.absolutePath("run_dir");
        r.offsets = fields.integers("offsets", 0);
        for (const auto& [file, offset] : r.offsets)
            if (file.empty() || file.find('/') != std::string::npos)
                fields.fail("offsets", "names of files in run_dir, without a slash");
        if (fields.has("chunk_bytes"))
            r.chunkBytes = fields.integer("chunk_bytes", 1, FollowRequest{}.chunkBytes);
        return r;
    });
}

std::string encode(const FollowItem& item) {
    struct Visitor {
        Value operator()(const FileBytes& b) const {
            return Value::object(
                {{"file", b.file}, {"offset", b.offset}, {"data", toBase64(b.bytes)}});
        }
        Value operator()(const ProcessState& s) const {
            return Value::object({{"state", fromState(s)}});
        }
        Value operator()(const Heartbeat& h) const {
            return Value::object({{"alive", true}, {"t", h.utcSeconds}});
        }
        Value operator()(const End&) const { return Value::object({{"end", true}}); }
    };
    return line(std::visit(Visitor{}, item));
}

Result<FollowItem> decodeFollowItem(std::string_view text) {
    Status inner;
    auto item = decodeReply<FollowItem>(text, [&](Fields& fields) -> FollowItem {
        if (fields.has("file")) {
            FileBytes bytes;
            bytes.file = fields.string("file");
            bytes.offset = fields.integer("offset");
            auto data = fromBase64(fields.string("data"));
            if (data)
                bytes.bytes = std::move(data).value();
            else
                fields.fail("data", "base64");
            return bytes;
        }
        if (fields.has("state")) {
            Fields state = fields.object("state");
            return stateFrom(state);
        }
        if (fields.has("end"))
            return End{};
        // Also for what a newer agent may say: it shows that the agent lives.
        return Heartbeat{fields.has("t") ? fields.number("t") : 0};
    });
    return item;
}

std::string encode(const StopRequest& r) {
    return line(Value::object(
        {{"run", r.run}, {"run_dirs", fromStrings(r.runDirs)}, {"grace_seconds", r.graceSeconds}}));
}

Result<StopRequest> decodeStopRequest(std::string_view text) {
    return decodeRequest<StopRequest>(text, [](Fields& fields) {
        StopRequest r;
        r.run = fields.nonEmpty("run");
        r.runDirs = fields.strings("run_dirs");
        if (fields.has("grace_seconds"))
            r.graceSeconds = fields.number("grace_seconds", 0, 3600);
        return r;
    });
}

std::string encode(const StopReply& r) {
    return line(Value::object(
        {{"ok", r.ok()}, {"killed", fromNames(r.killed)}, {"remaining", fromNames(r.remaining)}}));
}

Result<StopReply> decodeStopReply(std::string_view text) {
    return decodeReply<StopReply>(text, [](Fields& fields) {
        StopReply reply;
        reply.killed = namesIn(fields, "killed");
        reply.remaining = namesIn(fields, "remaining");
        return reply;
    });
}

std::string encode(const PlaceRequest& r) {
    return line(Value::object({{"base", r.base}}));
}

Result<PlaceRequest> decodePlaceRequest(std::string_view text) {
    return decodeRequest<PlaceRequest>(text, [](Fields& fields) {
        PlaceRequest request;
        if (!fields.optionalString("base").empty())
            request.base = fields.absolutePath("base");
        return request;
    });
}

std::string encode(const PlaceReply& r) {
    return line(Value::object({{"ok", true},
                               {"base", r.base},
                               {"machine", r.machine},
                               {"refused", fromPairs(r.refused)}}));
}

Result<PlaceReply> decodePlaceReply(std::string_view text) {
    return decodeReply<PlaceReply>(text, [](Fields& fields) {
        PlaceReply reply;
        reply.base = fields.string("base");
        reply.machine = fields.string("machine");
        reply.refused = fields.pairs("refused");
        return reply;
    });
}

std::string encodeFile(const ProcessState& state) {
    return json::dumpPretty(fromState(state));
}

Result<ProcessState> decodeFile(std::string_view text, const std::string& path) {
    auto value = json::parse(text, path);
    if (!value)
        return Error{Code::Corrupt, value.error().message, path};
    Fields fields(*value, path, Code::Corrupt);
    if (fields.string("format") != kFormat)
        fields.fail("format", "\"lockstep-state\"");
    else if (fields.integer("version") > kVersion)
        return Error{Code::NewerFormat,
                     "A newer lockstep-worker wrote this file; update Lockstep to read it.", path};
    ProcessState state = stateFrom(fields);
    LOCKSTEP_TRY(fields.status());
    return state;
}

} // namespace lockstep::agent
