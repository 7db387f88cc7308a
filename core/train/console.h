// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The chief's lines on standard output, in the form of Keras' fit(verbose=2).
// Source: keras/src/utils/progbar.py (Keras 3).

#include "core/wire/event.h"

#include <cstdint>
#include <string>

namespace lockstep::train {

/// "Epoch 2/5", without LF; Keras prints it only where there is more than one epoch.
std::string epochHeader(int epoch, int epochs);

/// "45/45 - 1s - 18ms/step - accuracy: 0.5000 - loss: 5.0000e-04", without LF. Names are sorted,
/// as Keras 3 does; `seconds` is the whole epoch's time.
std::string epochLine(std::int64_t steps, double seconds, const wire::NamedValues& values);

} // namespace lockstep::train
