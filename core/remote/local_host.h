// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// This machine as a Host: the same steps as on any other, with processes and files of its own.
// Threads: the caller's; files are read and written on a thread that it owns.

#include "core/remote/host.h"

#include <memory>

namespace lockstep::remote {

class LocalHost : public Host {
    Q_OBJECT
public:
    /// `workerProgram`: empty for $LOCKSTEP_WORKER, else lockstep-worker beside this program.
    explicit LocalHost(const QString& workerProgram = {}, QObject* parent = nullptr);
    ~LocalHost() override; ///< cancels what is under way

    QString workerProgram() const;

    QString name() const override;
    RequestId deploy(Done<QString> done, Milliseconds deadline) override;
    RequestId prepare(const QString& base, Done<HostFacts> done, Milliseconds deadline) override;
    RequestId run(const Command& command, const QByteArray& input, Done<Output> done,
                  Milliseconds deadline) override;
    std::unique_ptr<Stream> start(const Command& command, const QByteArray& input,
                                  Milliseconds silence) override;
    RequestId makeFolder(const QString& path, unsigned mode, Done<void> done,
                         Milliseconds deadline) override;
    RequestId info(const QString& path, Done<FileFacts> done, Milliseconds deadline) override;
    RequestId put(const QString& path, const QByteArray& bytes, unsigned mode, Done<void> done,
                  Milliseconds deadline) override;
    RequestId putFile(const QString& localPath, const QString& path, unsigned mode,
                      Progress progress, Done<void> done, Milliseconds deadline) override;
    RequestId fetch(const QString& path, Done<QByteArray> done, Milliseconds deadline) override;
    RequestId fetchFile(const QString& path, const QString& localPath, Progress progress,
                        Done<void> done, Milliseconds deadline) override;
    void cancel(RequestId id) override;

private:
    struct Private;
    std::unique_ptr<Private> m_d;
};

} // namespace lockstep::remote
