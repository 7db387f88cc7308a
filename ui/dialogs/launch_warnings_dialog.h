// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What the check before a launch warns of: a person reads it and decides. No timer runs. What hosts
// said is plain text. GUI thread.

#include "core/base/problem.h"

#include <QDialog>

namespace lockstep::ui {

class LaunchWarningsDialog final : public QDialog {
    Q_OBJECT
public:
    /// Accepted: launch all the same.
    explicit LaunchWarningsDialog(const Problems& warnings, QWidget* parent = nullptr);
};

} // namespace lockstep::ui
