// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Keras' progress lines, read from what a program prints: Keras 2 and 3, verbose 1 (redrawn in
// place) and verbose 2 (a line an epoch). They become steps and epochs over the whole run.
//  - A redraw is read when the next one begins, so a number is never taken half.
//  - Without headers "Epoch 1/5" (one epoch alone) the first line begins epoch 1; a later line
//    counts as another epoch only where it has the same steps and values, since evaluate() prints
//    the same form.
//  - A second fit() in one program counts on.
//  - While an epoch runs, Keras 2 adds the workers' values up instead of taking their mean (its
//    line at the epoch's end is right). Where a last redraw is the final value times the workers,
//    the redraws are divided by it, those of the epoch so far once more.
// Source: keras/src/utils/progbar.py, tf_keras/utils/generic_utils.py, and captured output, see
// tests/core/metrics/data. Thread: none of its own.

#include "core/wire/event.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::metrics {

inline constexpr double kNotPrinted = std::numeric_limits<double>::quiet_NaN();

/// One line as it says.
struct KerasLine {
    std::int64_t step = 0;
    std::int64_t steps = 0;       ///< of the epoch; 0: unknown
    wire::NamedValues values;     ///< in the line's order: loss, metrics, val_…
    double stepMs = kNotPrinted;  ///< a step takes this long, as Keras rounds it
    double seconds = kNotPrinted; ///< since the epoch's begin
    bool isRunning = false;       ///< surely a redraw inside an epoch (Keras 2 prints an ETA)
    bool hasBracketBar = false;   ///< Keras 2, verbose 1
};
std::optional<KerasLine> parseKerasLine(std::string_view line);

/// What a worker had reached when it printed a line.
struct Progress {
    int epoch = 1;         ///< from 1, over all calls of fit()
    int epochs = 0;        ///< in this call of fit(); 0: not printed
    std::int64_t step = 0; ///< over all epochs, as wire::Steps::last
    wire::NamedValues values;
    double stepMs = kNotPrinted;
    double seconds = kNotPrinted; ///< of the epoch, at its end
    bool isEpochEnd = false;
    /// Place in the stream behind it, which says when it was printed.
    std::int64_t position = 0;
    /// The value called `name`; not a number where there is none.
    double value(std::string_view name) const;
};

class KerasReader {
public:
    /// `workers` that train together.
    explicit KerasReader(int workers = 1)
        : m_workers(workers) {}

    /// What `bytes` of the program's output complete, in order. A step at or before one that was
    /// given earlier replaces all from there on.
    std::vector<Progress> add(std::string_view bytes);

private:
    void endSegment(bool isLineEnd);
    void takeHeader(int epoch, int epochs);
    void takeLine(KerasLine line, bool isLineEnd);
    void begin(int epoch);
    void closeEpoch(Progress progress, const KerasLine& line);
    bool completesLastEpoch(const KerasLine& line) const;
    bool repeatsFirstEpoch(const KerasLine& line) const;
    void findFactor(const Progress& end);
    Progress progressOf(const KerasLine& line) const;

    int m_workers;
    std::vector<Progress> m_found; ///< by the add() that runs
    std::string m_segment;
    bool m_isOverlong = false;
    std::string m_lastSegment; ///< that was followed by a carriage return alone
    std::int64_t m_position = 0;

    bool m_hasHeaders = false;
    int m_headerEpoch = 0; ///< as printed, in this call of fit()
    int m_epochs = 0;
    int m_before = 0; ///< epochs of earlier calls of fit()
    int m_epoch = 0;
    bool m_isOpen = false;
    std::optional<std::int64_t> m_base; ///< steps before this epoch
    std::int64_t m_last = 0;            ///< last step of this epoch, within it
    std::optional<KerasLine> m_lastLine;
    std::optional<KerasLine> m_firstEnd; ///< end of the first epoch, to know others by
    std::optional<Progress> m_lastEnd;
    KerasLine m_lastEndLine;
    bool m_sawSmallerStep = false;   ///< since the last epoch ended: that is another loop
    double m_factor = 1;             ///< redraws hold values times this
    std::vector<Progress> m_redraws; ///< of this epoch, while the factor is not known
};

} // namespace lockstep::metrics
