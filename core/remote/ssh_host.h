// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A machine reached over SSH with nothing installed on it. All requests go over one helper session
// of one connection. When the connection breaks, requests under way end with Unreachable, and the
// next one connects again.

#include "core/remote/bundle.h"
#include "core/remote/host.h"
#include "core/ssh/connection.h"

#include <memory>

namespace lockstep::remote {

class SshHost : public Host {
    Q_OBJECT
public:
    /// `base`: the cluster's own choice of a folder there, or empty.
    SshHost(std::unique_ptr<ssh::Connection> connection, Bundle bundle, QString base = {},
            QObject* parent = nullptr);
    ~SshHost() override;

    QString name() const override;
    RequestId deploy(Done<QString> done, Milliseconds deadline = 120s) override;
    RequestId prepare(const QString& base, Done<HostFacts> done,
                      Milliseconds deadline = 30s) override;
    RequestId run(const Command& command, const QByteArray& input, Done<Output> done,
                  Milliseconds deadline = 30s) override;
    std::unique_ptr<Stream> start(const Command& command, const QByteArray& input,
                                  Milliseconds silence = 15s) override;
    RequestId makeFolder(const QString& path, unsigned mode, Done<void> done,
                         Milliseconds deadline = 30s) override;
    RequestId info(const QString& path, Done<FileFacts> done, Milliseconds deadline = 30s) override;
    RequestId put(const QString& path, const QByteArray& bytes, unsigned mode, Done<void> done,
                  Milliseconds deadline = 60s) override;
    RequestId putFile(const QString& localPath, const QString& path, unsigned mode,
                      Progress progress, Done<void> done, Milliseconds deadline = 60s) override;
    RequestId fetch(const QString& path, Done<QByteArray> done,
                    Milliseconds deadline = 60s) override;
    RequestId fetchFile(const QString& path, const QString& localPath, Progress progress,
                        Done<void> done, Milliseconds deadline = 60s) override;
    void cancel(RequestId id) override;

    class Private;

private:
    std::unique_ptr<Private> m_d;
};

} // namespace lockstep::remote
