// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The one exception type of numeric code (tensor, nn, data, collective, train). train::run is the
// bridge that turns it into a Result.

#include "core/base/result.h"

#include <exception>
#include <sstream>
#include <string>

namespace lockstep {

class Failure : public std::exception {
public:
    explicit Failure(Error error)
        : m_error(std::move(error))
        , m_text(describe(m_error)) {}
    Failure(Code code, std::string message, std::string where = {})
        : Failure(Error{code, std::move(message), std::move(where)}) {}

    const Error& error() const { return m_error; }
    const char* what() const noexcept override { return m_text.c_str(); }

private:
    Error m_error;
    std::string m_text;
};

/// The value, or a thrown Failure: from Result code into numeric code.
template <class T>
T valueOrThrow(Result<T> result) {
    if (!result.ok())
        throw Failure(std::move(result).error());
    return std::move(result).value();
}

} // namespace lockstep

/// Throws Failure{Internal} naming the place when an invariant of ours does not hold. `message` is
/// streamed: LOCKSTEP_CHECK(a == b, "[reshape] expected " << a << ", got " << b). Never for user
/// input: that is validated up front and returned as Problems.
#define LOCKSTEP_CHECK(condition, message)                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::ostringstream lockstepCheckText;                                                  \
            lockstepCheckText << message; /* NOLINT(bugprone-macro-parentheses): streamed */       \
            throw ::lockstep::Failure(::lockstep::Code::Internal, lockstepCheckText.str(),         \
                                      std::string(__FILE__) + ":" + std::to_string(__LINE__));     \
        }                                                                                          \
    } while (false)
