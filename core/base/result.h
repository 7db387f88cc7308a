// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What can go wrong as a value: Error, and Result<T>, a subset of std::expected that GCC 12 has
// only in C++23. Control code returns Result; numeric code throws Failure (failure.h).

#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace lockstep {

/// The closed list of kinds that callers branch on; the UI translates by it.
enum class Code {
    InvalidArgument,
    NotFound,
    AlreadyExists,
    Unauthenticated,
    HostKeyChanged,
    HostKeyUnknown,
    Unreachable,
    TimedOut,
    PeerLost,
    Cancelled,
    Corrupt,
    NewerFormat,
    Unsupported,
    OutOfMemory,
    PermissionDenied,
    Internal,
};

/// "invalid_argument", "peer_lost", ...: the name in JSON and logs.
const char* codeName(Code code);
/// The reverse of codeName; unknown names are Internal.
Code codeFromName(const std::string& name);

struct Error {
    Code code = Code::Internal;
    std::string message; ///< English, a full sentence: what, what was expected, what to do
    std::string where;   ///< host, rank, file or JSON path; empty when the message says it all

    bool operator==(const Error&) const = default;
};

/// "where: message", or the message alone.
std::string describe(const Error& error);

/// Either a value or an Error. Reading the wrong one is a programming error (asserted).
template <class T>
class [[nodiscard]] Result {
public:
    Result(T value)
        : m_state(std::in_place_index<0>, std::move(value)) {}
    Result(Error error)
        : m_state(std::in_place_index<1>, std::move(error)) {}

    bool ok() const { return m_state.index() == 0; }
    explicit operator bool() const { return ok(); }

    T& value() & { return assert(ok()), *std::get_if<0>(&m_state); }
    const T& value() const& { return assert(ok()), *std::get_if<0>(&m_state); }
    T&& value() && { return assert(ok()), std::move(*std::get_if<0>(&m_state)); }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T&& operator*() && { return std::move(*this).value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

    const Error& error() const& { return assert(!ok()), *std::get_if<1>(&m_state); }
    Error&& error() && { return assert(!ok()), std::move(*std::get_if<1>(&m_state)); }

private:
    std::variant<T, Error> m_state;
};

/// Success without a value: `return {};`.
template <>
class [[nodiscard]] Result<void> {
public:
    Result() = default;
    Result(Error error)
        : m_error(std::move(error)) {}

    bool ok() const { return !m_error; }
    explicit operator bool() const { return ok(); }
    const Error& error() const { return assert(m_error), *m_error; }

private:
    std::optional<Error> m_error;
};

using Status = Result<void>;

} // namespace lockstep

/// Returns the error of `expression` (a Result) from the enclosing function, if it has one.
#define LOCKSTEP_TRY(expression)                                                                   \
    do {                                                                                           \
        if (auto lockstepTryResult = (expression); !lockstepTryResult.ok())                        \
            return lockstepTryResult.error();                                                      \
    } while (false)
