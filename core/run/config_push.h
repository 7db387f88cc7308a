// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Gives every host the TF_CONFIG of its tasks, as a file and as files to source, for programs that
// people start by hand. What arrived is read back and compared.
// Thread: the caller's, with an event loop; nothing blocks it.

#include "core/run/host_factory.h"

#include <QObject>

#include <memory>
#include <string>
#include <vector>

namespace lockstep::run {

/// A line that sets and exports TF_CONFIG, for the shell that the file's ending names.
struct ShellFile {
    std::string name; ///< "tf_config.sh"
    std::string text;
};
/// For sh, bash, dash and zsh; fish; csh and tcsh. `value` holds no NUL.
std::vector<ShellFile> shellFiles(const std::string& value);

struct PushedConfig {
    std::string task;
    std::string host;   ///< for people
    std::string folder; ///< on the host
    std::string sha256; ///< of TF_CONFIG's bytes, as read back
    Status status = Error{Code::Cancelled, "It was not pushed.", {}};
};

class ConfigPush : public QObject {
    Q_OBJECT
public:
    ConfigPush(HostFactory hosts, cluster::ClusterSpec spec, QObject* parent = nullptr);
    ~ConfigPush() override; ///< ends what is under way

    /// Once.
    void start();
    /// One per task, in the order of tasks.
    const std::vector<PushedConfig>& results() const;
    bool isSuccess() const;

Q_SIGNALS:
    /// Once, last; not from within start().
    void done();

private:
    struct Private;
    std::unique_ptr<Private> m_d;
};

} // namespace lockstep::run
