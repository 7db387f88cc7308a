// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A problem in the words that every place of the window uses.

#include "core/base/problem.h"

#include <QString>

namespace lockstep::ui {

/// What is wrong, what is expected, what to do; safe to show.
QString sentenceOf(const Problem& problem);

} // namespace lockstep::ui
