// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The desktop's keyring through QtKeychain (Secret Service, KWallet). GUI thread.

#include "ui/dialogs/secret_store.h"

#include <memory>

namespace lockstep {

/// nullptr where this program was built without QtKeychain: nothing is offered to be remembered.
std::unique_ptr<ui::SecretStore> makeKeyring();

} // namespace lockstep
