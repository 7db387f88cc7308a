// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/train/console.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace lockstep::train {

namespace {

std::string valueText(double value) {
    if (std::isnan(value))
        return "nan";
    if (std::isinf(value))
        return value > 0 ? "inf" : "-inf";
    char text[64];
    // No abs(): with verbose=2 Keras writes negative values in scientific form.
    std::snprintf(text, sizeof text, value > 1e-3 ? "%.4f" : "%.4e", value);
    return text;
}

std::string stepTimeText(double seconds) {
    if (seconds >= 1 || seconds == 0)
        return std::to_string(std::llround(seconds)) + "s/step";
    if (seconds >= 1e-3)
        return std::to_string(std::llround(seconds * 1e3)) + "ms/step";
    return std::to_string(std::llround(seconds * 1e6)) + "us/step";
}

} // namespace

std::string epochHeader(int epoch, int epochs) {
    return "Epoch " + std::to_string(epoch) + "/" + std::to_string(epochs);
}

std::string epochLine(std::int64_t steps, double seconds, const wire::NamedValues& values) {
    const std::string count = std::to_string(steps);
    std::string line =
        count + "/" + count + " - " + std::to_string(std::llround(seconds)) + "s - " +
        stepTimeText(seconds / static_cast<double>(std::max<std::int64_t>(1, steps)));
    wire::NamedValues sorted = values;
    std::sort(sorted.begin(), sorted.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [name, value] : sorted)
        line += " - " + name + ": " + valueText(value);
    return line;
}

} // namespace lockstep::train
