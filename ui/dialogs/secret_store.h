// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Where a person may have secrets remembered: the desktop's keyring, nothing else. GUI thread;
// answers come later, from the event loop.

#include <QString>

#include <functional>
#include <optional>

namespace lockstep::ui {

class SecretStore {
public:
    SecretStore() = default;
    SecretStore(const SecretStore&) = delete;
    SecretStore& operator=(const SecretStore&) = delete;
    virtual ~SecretStore() = default;

    /// Nothing: it is not there, or the keyring does not answer.
    virtual void find(const QString& name,
                      std::function<void(std::optional<QString> secret)> done) = 0;
    virtual void keep(const QString& name, const QString& secret) = 0;
    virtual void forget(const QString& name) = 0;
};

} // namespace lockstep::ui
