// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What the user has chosen for all documents, in $XDG_CONFIG_HOME/lockstep/settings.json, and how
// the windows stood, in view.json beside it. Nothing else in the program keeps preferences. Passed
// to those who need them, never global; one thread at a time.

#include "core/base/json.h"
#include "core/base/problem.h"
#include "core/base/result.h"

#include <QByteArray>

#include <string>
#include <vector>

namespace lockstep::document {

enum class Theme { System, Light, Dark };

/// Each field with its default; key and range stand once, in settings.cpp.
struct Settings {
    Theme theme = Theme::System;
    int localWorkers = 2;                    ///< offered for a cluster on this machine; 1 to 64
    int firstPort = 2222;                    ///< offered for new workers; 1 to 65535
    std::vector<std::string> recentClusters; ///< paths, the newest first
    std::vector<std::string> recentJobs;

    bool operator==(const Settings&) const = default;
};

/// Puts `path` first, without doubles, and keeps the newest ten.
void noteRecent(std::vector<std::string>& recent, const std::string& path);

/// $XDG_CONFIG_HOME/lockstep, by default ~/.config/lockstep.
std::string configFolder();

/// The settings' file. Defaults are not written, so that a better default reaches everyone; keys of
/// other versions survive.
class SettingsFile {
public:
    explicit SettingsFile(std::string path = configFolder() + "/settings.json");

    /// Never fails: what is missing or wrong is the default, and `problems` says what was wrong.
    Settings load(Problems& problems);
    /// NewerFormat where a newer program has written the file: it is left alone.
    Status save(const Settings& settings);

    const std::string& path() const { return m_path; }

private:
    std::string m_path;
};

/// Geometry and layout by name ("window.geometry"). It may be lost without harm, so nothing about
/// it is ever reported.
class ViewState {
public:
    explicit ViewState(std::string path = configFolder() + "/view.json");

    QByteArray bytes(const std::string& name) const; ///< empty where unknown
    void setBytes(const std::string& name, const QByteArray& bytes);
    Status save() const;

private:
    std::string m_path;
    json::Value m_values; ///< name → base64
};

} // namespace lockstep::document
