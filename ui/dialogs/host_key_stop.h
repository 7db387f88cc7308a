// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A host key that has changed or is revoked: told in full, and that is all. There is no button to
// go on; who is sure removes the old line by the command that is shown. GUI thread.

#include "core/base/result.h"

#include <QDialog>

namespace lockstep::ui {

class HostKeyStop final : public QDialog {
    Q_OBJECT
public:
    /// `error` has Code::HostKeyChanged.
    explicit HostKeyStop(const Error& error, QWidget* parent = nullptr);
};

/// The ssh-keygen line inside the message; empty where there is none (a revoked key).
QString removalCommandIn(const QString& message);

} // namespace lockstep::ui
