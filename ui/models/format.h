// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Values as people read them: one function for each kind of quantity, so that a size, a rate or a
// time looks the same on every page. Pure functions; the wide space in results is U+202F.

#include <QString>

#include <cstdint>

namespace lockstep::ui {

/// "512 B", "1.5 KiB", "14.8 MiB": binary units, three significant digits.
QString formatBytes(double bytes);
/// "480 ms", "2.4 s", "2 m 14 s", "3 h 05 m", "2 d 4 h".
QString formatDuration(double seconds);
/// "0.42 ms", "12.3 ms", "1.20 s": the time of one step or one all-reduce.
QString formatMilliseconds(double milliseconds);
/// "980", "12,480", "1.25 M": samples a second, without the unit.
QString formatRate(double perSecond);
/// "12,480 samples/s".
QString formatSamplesPerSecond(double perSecond);
/// "1,240": whole numbers with separators.
QString formatCount(std::int64_t count);
/// `one` where count is 1, else `many` with %1 replaced by the count.
QString countWords(std::int64_t count, const QString& one, const QString& many);
/// "0.2131", "1.3e-05", "NaN", "∞": a loss, a metric or a rate, four significant digits.
QString formatValue(double value);
/// "just now", "4 min ago"; over an hour the local clock: "08:14", "30 Jan 08:14".
QString formatMoment(double utcSeconds, double nowUtcSeconds);
/// "30 January 2026 08:14:03 CET": for tooltips.
QString formatMomentLong(double utcSeconds);
/// "30 Jan 2026 08:14": for small places.
QString formatMomentShort(double utcSeconds);
/// "08:14:03": the local clock, for logs.
QString formatClock(double utcSeconds);

/// Text from hosts made safe to show: control characters become visible pictures (U+2400 block),
/// direction overrides are dropped, and it ends with "…" after `limit` characters.
QString plainText(const QString& text, qsizetype limit = 4000);

} // namespace lockstep::ui
