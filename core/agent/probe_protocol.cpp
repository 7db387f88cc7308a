// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/agent/probe_protocol.h"

#include "core/base/json.h"

#include <algorithm>
#include <type_traits>

namespace lockstep::agent {

namespace {

using json::Value;

constexpr const char* kGpuStates[] = {"ready", "no_driver",         "not_running", "mismatch",
                                      "none",  "permission_denied", "failed"};
constexpr const char* kReaches[] = {"reached",      "refused",       "dropped",    "no_route",
                                    "unknown_name", "wrong_program", "wrong_host", "timed_out"};
constexpr const char* kEchoStates[] = {"not_tried", "good", "failed"};

// One list of members per struct serves writing and reading.
template <class V, class T>
void each(V& visit, T& o) requires std::is_same_v<std::remove_const_t<T>, NetworkInterface> {
    visit("name", o.name), visit("addresses", o.addresses), visit("mtu", o.mtu);
    visit("up", o.isUp), visit("loopback", o.isLoopback);
}
template <class V, class T>
void each(V& visit, T& o) requires std::is_same_v<std::remove_const_t<T>, Gpu> {
    visit("name", o.name), visit("memory_mib", o.memoryMiB);
    visit("compute_capability", o.computeCapability), visit("mig", o.isMig);
}
template <class V, class T>
void each(V& visit, T& o) requires std::is_same_v<std::remove_const_t<T>, ProbeRequest> {
    visit("only_clock", o.onlyClock), visit("folder", o.folder), visit("names", o.names);
}
template <class V, class T>
void each(V& visit, T& o) requires std::is_same_v<std::remove_const_t<T>, Resolved> {
    visit("name", o.name), visit("addresses", o.addresses);
}
template <class V, class T>
void each(V& visit, T& o) requires std::is_same_v<std::remove_const_t<T>, HostProbe> {
    visit("utc_seconds", o.utcSeconds), visit("hostname", o.hostname);
    visit("machine_id", o.machineId), visit("boot_id", o.bootId);
    visit("architecture", o.architecture), visit("kernel", o.kernel), visit("system", o.system);
    visit("libc", o.libc), visit("user", o.user), visit("shell", o.shell), visit("cores", o.cores);
    visit("memory_bytes", o.memoryBytes), visit("available_bytes", o.availableBytes);
    visit("load", o.load), visit("running", o.running), visit("disk_free_bytes", o.diskFreeBytes);
    visit("interfaces", o.interfaces), visit("default_interface", o.defaultInterface);
    visit("gpu_state", o.gpuState), visit("gpu_words", o.gpuWords), visit("gpus", o.gpus);
    visit("driver", o.driver), visit("cuda", o.cuda), visit("nccl", o.nccl);
    visit("kills_user_processes", o.killsUserProcesses), visit("lingers", o.lingers);
    visit("resolved", o.resolved);
}
template <class V, class T>
void each(V& visit, T& o) requires std::is_same_v<std::remove_const_t<T>, PortOwner> {
    visit("pid", o.pid), visit("user", o.user), visit("command", o.command), visit("run", o.run);
    visit("started_at", o.startedAt);
}
template <class V, class T>
void each(V& visit, T& o) requires std::is_same_v<std::remove_const_t<T>, Port> {
    visit("task", o.task), visit("port", o.port);
}
template <class V, class T>
void each(V& visit, T& o) requires std::is_same_v<std::remove_const_t<T>, ListenRequest> {
    visit("token", o.token), visit("ports", o.ports), visit("seconds", o.seconds);
}
template <class V, class T>
void each(V& visit, T& o) requires std::is_same_v<std::remove_const_t<T>, ListenReply> {
    visit("task", o.task), visit("open", o.isOpen), visit("why", o.why), visit("owner", o.owner);
    visit("free_port", o.freePort);
}
template <class V, class T>
void each(V& visit, T& o) requires std::is_same_v<std::remove_const_t<T>, Peer> {
    visit("task", o.task), visit("host", o.host), visit("zone", o.zone), visit("port", o.port);
}
template <class V, class T>
void each(V& visit, T& o) requires std::is_same_v<std::remove_const_t<T>, DialRequest> {
    visit("token", o.token), visit("peers", o.peers), visit("resolve_seconds", o.resolveSeconds);
    visit("connect_seconds", o.connectSeconds), visit("echo_seconds", o.echoSeconds);
    visit("bandwidth_seconds", o.bandwidthSeconds), visit("seconds", o.seconds);
}
template <class V, class T>
void each(V& visit, T& o) requires std::is_same_v<std::remove_const_t<T>, Echo> {
    visit("state", o.state), visit("seconds", o.seconds);
}
template <class V, class T>
void each(V& visit, T& o) requires std::is_same_v<std::remove_const_t<T>, DialResult> {
    visit("task", o.task), visit("reach", o.reach), visit("words", o.words);
    visit("addresses", o.addresses), visit("address", o.address);
    visit("local_address", o.localAddress), visit("local_interface", o.localInterface);
    visit("answered_by", o.answeredBy), visit("round_trip_seconds", o.roundTripSeconds);
    visit("echo_1k", o.echo1K), visit("echo_64k", o.echo64K), visit("echo_1m", o.echo1M);
    visit("bytes_per_second", o.bytesPerSecond);
}

template <class E>
struct Names;
template <>
struct Names<GpuState> {
    static constexpr auto& list = kGpuStates;
};
template <>
struct Names<Reach> {
    static constexpr auto& list = kReaches;
};
template <>
struct Names<EchoState> {
    static constexpr auto& list = kEchoStates;
};

class Writer {
public:
    template <class T>
    void operator()(const char* key, const T& value) {
        m_value.set(key, toJson(value));
    }
    template <class T>
    static Value toJson(const T& value) {
        if constexpr (std::is_enum_v<T>) {
            return Names<T>::list[static_cast<std::size_t>(value)];
        } else if constexpr (std::is_constructible_v<Value, T>) {
            return Value(value);
        } else {
            Writer writer;
            each(writer, value);
            return writer.m_value;
        }
    }
    template <class T>
    static Value toJson(const std::vector<T>& values) {
        Value array = Value::array();
        for (const T& value : values)
            array.append(toJson(value));
        return array;
    }

private:
    Value m_value = Value::object();
};

class Reader {
public:
    Reader(const Value& value, std::string& fault)
        : m_value(value)
        , m_fault(fault) {}

    template <class T>
    void operator()(const char* key, T& target) {
        const Value* value = m_value.find(key);
        if (value && !value->isNull() && !read(*value, target) && m_fault.empty())
            m_fault = std::string(key) + " is " + json::nameOf(*value);
    }

private:
    static bool read(const Value& value, bool& target) {
        return value.isBool() && (target = value.toBool(), true);
    }
    static bool read(const Value& value, std::string& target) {
        return value.isString() && (target = value.toString(), true);
    }
    static bool read(const Value& value, std::int64_t& target) {
        return value.isInteger() && (target = value.toInteger(), true);
    }
    static bool read(const Value& value, double& target) {
        return value.isNumber() && (target = value.toNumber(), true);
    }
    template <class T>
    bool read(const Value& value, std::vector<T>& target) {
        if (!value.isArray())
            return false;
        for (const Value& item : value.items())
            if (!read(item, target.emplace_back()))
                return false;
        return true;
    }
    template <class T>
    bool read(const Value& value, T& target) {
        if constexpr (std::is_enum_v<T>) {
            const auto& names = Names<T>::list;
            const auto* at = std::find_if(std::begin(names), std::end(names), [&](const char* n) {
                return value.isString() && value.toString() == n;
            });
            target = static_cast<T>(at - std::begin(names));
            return at != std::end(names);
        } else {
            Reader reader(value, m_fault);
            each(reader, target);
            return value.isObject();
        }
    }

    const Value& m_value;
    std::string& m_fault;
};

template <class T>
std::string write(const T& object) {
    return json::dump(Writer::toJson(object)) + '\n';
}

template <class T>
Result<T> read(std::string_view line, const char* what, Code code) {
    const auto value = json::parse(line, what);
    if (!value)
        return Error{code, value.error().message, what};
    if (!value->isObject())
        return Error{code, "Got " + json::nameOf(*value) + "; expected an object.", what};
    const Value* ok = value->find("ok");
    const Value* message = value->find("message");
    if (ok && ok->isBool() && !ok->toBool() && message && message->isString()) {
        const Value* name = value->find("code");
        return Error{name && name->isString() ? codeFromName(name->toString()) : Code::Internal,
                     message->toString(),
                     {}};
    }
    T object;
    std::string fault;
    Reader reader(*value, fault);
    each(reader, object);
    if (!fault.empty())
        return Error{code, "The " + std::string(what) + " cannot be read: " + fault + ".", what};
    return object;
}

} // namespace

const char* gpuStateName(GpuState state) {
    return kGpuStates[static_cast<std::size_t>(state)];
}

const char* reachName(Reach reach) {
    return kReaches[static_cast<std::size_t>(reach)];
}

const NetworkInterface* HostProbe::interfaceOf(const std::string& address) const {
    for (const NetworkInterface& each : interfaces)
        if (std::find(each.addresses.begin(), each.addresses.end(), address) !=
            each.addresses.end())
            return &each;
    return nullptr;
}

std::string encode(const ProbeRequest& request) {
    return write(request);
}
std::string encode(const HostProbe& probe) {
    return write(probe);
}
std::string encode(const ListenRequest& request) {
    return write(request);
}
std::string encode(const ListenReply& reply) {
    return write(reply);
}
std::string encode(const DialRequest& request) {
    return write(request);
}
std::string encode(const DialResult& result) {
    return write(result);
}

Result<ProbeRequest> decodeProbeRequest(std::string_view line) {
    return read<ProbeRequest>(line, "probe request", Code::InvalidArgument);
}
Result<HostProbe> decodeHostProbe(std::string_view line) {
    return read<HostProbe>(line, "probe reply", Code::Corrupt);
}
Result<ListenRequest> decodeListenRequest(std::string_view line) {
    return read<ListenRequest>(line, "listen request", Code::InvalidArgument);
}
Result<ListenReply> decodeListenReply(std::string_view line) {
    auto reply = read<ListenReply>(line, "listen reply", Code::Corrupt);
    if (reply && reply->task.empty())
        return Error{Code::NotFound, "The listener lives.", {}};
    return reply;
}
Result<DialRequest> decodeDialRequest(std::string_view line) {
    return read<DialRequest>(line, "dial request", Code::InvalidArgument);
}
Result<DialResult> decodeDialResult(std::string_view line) {
    return read<DialResult>(line, "dial result", Code::Corrupt);
}

} // namespace lockstep::agent
