// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The style sheet of the application, made from tokens. Widgets choose their look by a dynamic
// property: kind = primary | danger | quiet | rail | document | card | bar | title | muted | code.

#include "ui/widgets/theme.h"

namespace lockstep::ui {

QString styleSheet(const Tokens& tokens);

} // namespace lockstep::ui
