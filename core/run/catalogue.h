// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The list of runs, in SQLite at <root>/catalogue.sqlite so that it opens fast with thousands. It
// holds nothing that the run folders do not: a missing, corrupt or foreign file is made anew.
// Thread: the one that made it. Several programs may use it at once.

#include "core/base/result.h"
#include "core/run/run_record.h"

#include <QString>

#include <optional>
#include <string>
#include <vector>

namespace lockstep::run {

struct CatalogueEntry {
    std::string id;
    std::string name;
    double startedAt = 0; ///< UTC seconds
    std::optional<double> endedAt;
    RunStatus status = RunStatus::Running; ///< Running also where nobody has looked since it ended
    int workers = 0;
    std::optional<double> finalLoss; ///< NaN where it was
    bool operator==(const CatalogueEntry&) const = default;
};

CatalogueEntry entryOf(const RunRecord& record);

class Catalogue {
public:
    explicit Catalogue(std::string root);
    ~Catalogue();
    Catalogue(const Catalogue&) = delete;
    Catalogue& operator=(const Catalogue&) = delete;

    /// Opens it and takes in the run folders that it does not know or that changed since. Folders
    /// whose run.json cannot be read are left out and named in unreadable().
    Status open();
    /// Takes in the folders again: what other programs did.
    Status refresh();
    /// Newest first.
    Result<std::vector<CatalogueEntry>> entries() const;
    Status put(const RunRecord& record);
    /// Removes the run folder and the entry; refused while a program writes the folder.
    Status remove(const std::string& id);
    const std::vector<std::string>& unreadable() const { return m_unreadable; }

private:
    Status openDatabase();
    Status execute(const QString& sql) const;

    std::string m_root;
    QString m_connection;
    std::vector<std::string> m_unreadable;
};

} // namespace lockstep::run
