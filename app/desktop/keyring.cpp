// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "app/desktop/keyring.h"

#include <qt6keychain/keychain.h>

#include <utility>

namespace lockstep {
namespace {

QString service() {
    return QStringLiteral("Lockstep");
}

/// Never falls back to a plain file: QtKeychain's insecure fallback is off unless asked for. Jobs
/// delete themselves.
class Keyring final : public ui::SecretStore {
public:
    void find(const QString& name, std::function<void(std::optional<QString>)> done) override {
        auto* job = new QKeychain::ReadPasswordJob(service());
        job->setKey(name);
        QObject::connect(
            job, &QKeychain::Job::finished, job, [job, done = std::move(done)](QKeychain::Job*) {
                done(job->error() == QKeychain::NoError ? std::optional(job->textData())
                                                        : std::nullopt);
            });
        job->start();
    }
    void keep(const QString& name, const QString& secret) override {
        auto* job = new QKeychain::WritePasswordJob(service());
        job->setKey(name);
        job->setTextData(secret);
        job->start();
    }
    void forget(const QString& name) override {
        auto* job = new QKeychain::DeletePasswordJob(service());
        job->setKey(name);
        job->start();
    }
};

} // namespace

std::unique_ptr<ui::SecretStore> makeKeyring() {
    return std::make_unique<Keyring>();
}

} // namespace lockstep
