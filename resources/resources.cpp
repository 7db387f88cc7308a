// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// Carries the resource objects of this library; see CMakeLists.txt for the list of files.

namespace lockstep::resources {

/// ":/icons/<name>.svg" exists once this library is linked.
const char* iconFolder() {
    return ":/icons";
}

} // namespace lockstep::resources
