// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// In a file of its own: a static program that looks up accounts needs the host's libraries for it,
// and one that does not use this function must not.
#include "core/agent/place.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

namespace lockstep::agent {

Environment processEnvironment() {
    return [](const std::string& name) -> std::optional<std::string> {
        const char* value = ::getenv(name.c_str());
        if (value && (name != "HOME" || *value != '\0'))
            return value;
        if (name != "HOME")
            return std::nullopt;
        const passwd* entry = ::getpwuid(::geteuid());
        return entry && entry->pw_dir ? std::optional<std::string>(entry->pw_dir) : std::nullopt;
    };
}

} // namespace lockstep::agent
