// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/models/format.h"

#include <QDateTime>
#include <QLocale>
#include <QTimeZone>

#include <array>
#include <cmath>

namespace lockstep::ui {
namespace {

const QChar kThin(0x202F);
const QString kNone = QStringLiteral("–");

/// Three significant digits, and never more decimals than that needs.
QString significant(double value) {
    const double size = std::abs(value);
    const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
    return QString::number(value, 'f', decimals);
}

QString grouped(std::int64_t count) {
    return QLocale(QLocale::English, QLocale::UnitedStates).toString(static_cast<qlonglong>(count));
}

} // namespace

QString formatBytes(double bytes) {
    if (!std::isfinite(bytes) || bytes < 0)
        return kNone;
    static const std::array<const char*, 6> units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    std::size_t unit = 0;
    while (bytes >= 1023.5 && unit + 1 < units.size()) {
        bytes /= 1024;
        ++unit;
    }
    const QString number = unit == 0 ? QString::number(bytes, 'f', 0) : significant(bytes);
    return number + kThin + QLatin1String(units[unit]);
}

QString formatDuration(double seconds) {
    if (!std::isfinite(seconds) || seconds < 0)
        return kNone;
    if (seconds < 0.9995)
        return QStringLiteral("%1%2ms").arg(std::round(seconds * 1000)).arg(kThin);
    if (seconds < 59.95)
        return QString::number(seconds, 'f', seconds < 9.95 ? 1 : 0) + kThin + QLatin1Char('s');
    const auto whole = static_cast<std::int64_t>(std::llround(seconds));
    const auto two = [](std::int64_t n) {
        return QStringLiteral("%1").arg(n, 2, 10, QLatin1Char('0'));
    };
    if (whole < 3600)
        return QStringLiteral("%1%3m %2%3s").arg(whole / 60).arg(two(whole % 60)).arg(kThin);
    if (whole < 86400)
        return QStringLiteral("%1%3h %2%3m").arg(whole / 3600).arg(two(whole / 60 % 60)).arg(kThin);
    return QStringLiteral("%1%3d %2%3h").arg(whole / 86400).arg(whole / 3600 % 24).arg(kThin);
}

QString formatMilliseconds(double milliseconds) {
    if (!std::isfinite(milliseconds) || milliseconds < 0)
        return kNone;
    if (milliseconds >= 999.5)
        return significant(milliseconds / 1000) + kThin + QLatin1Char('s');
    return significant(milliseconds) + kThin + QStringLiteral("ms");
}

QString formatRate(double perSecond) {
    if (!std::isfinite(perSecond) || perSecond < 0)
        return kNone;
    if (perSecond < 99.95)
        return QString::number(perSecond, 'f', perSecond < 9.995 ? 2 : 1);
    if (perSecond < 999'999.5)
        return grouped(std::llround(perSecond));
    return significant(perSecond / 1e6) + kThin + QLatin1Char('M');
}

QString formatSamplesPerSecond(double perSecond) {
    return formatRate(perSecond) + kThin + QStringLiteral("samples/s");
}

QString formatCount(std::int64_t count) {
    return grouped(count);
}

QString countWords(std::int64_t count, const QString& one, const QString& many) {
    return count == 1 ? one : many.arg(formatCount(count));
}

QString formatValue(double value) {
    if (std::isnan(value))
        return QStringLiteral("NaN");
    if (std::isinf(value))
        return value > 0 ? QStringLiteral("∞") : QStringLiteral("−∞");
    const double size = std::abs(value);
    if (size == 0)
        return QStringLiteral("0");
    if (size < 1e-3 || size >= 1e6)
        return QString::number(value, 'e', 2);
    const int decimals = size >= 1000 ? 1 : size >= 100 ? 2 : size >= 10 ? 3 : 4;
    return QString::number(value, 'f', decimals);
}

QString formatMoment(double utcSeconds, double nowUtcSeconds) {
    if (!(utcSeconds > 0))
        return kNone;
    const double age = nowUtcSeconds - utcSeconds;
    if (age >= -5 && age < 45)
        return QStringLiteral("just now");
    if (age >= 0 && age < 3570)
        return QStringLiteral("%1%2min ago").arg(std::max(1.0, std::round(age / 60))).arg(kThin);
    const auto moment = QDateTime::fromMSecsSinceEpoch(std::llround(utcSeconds * 1000));
    const auto now = QDateTime::fromMSecsSinceEpoch(std::llround(nowUtcSeconds * 1000));
    if (moment.date() == now.date())
        return QLocale::c().toString(moment, QStringLiteral("HH:mm"));
    const auto form = moment.date().year() == now.date().year() ? QStringLiteral("d MMM HH:mm")
                                                                : QStringLiteral("d MMM yyyy");
    return QLocale::c().toString(moment, form);
}

QString formatMomentLong(double utcSeconds) {
    if (!(utcSeconds > 0))
        return kNone;
    const auto moment = QDateTime::fromMSecsSinceEpoch(std::llround(utcSeconds * 1000));
    return QLocale::c().toString(moment, QStringLiteral("d MMMM yyyy HH:mm:ss ")) +
           moment.timeZoneAbbreviation();
}

QString formatMomentShort(double utcSeconds) {
    if (!(utcSeconds > 0))
        return kNone;
    return QLocale::c().toString(QDateTime::fromMSecsSinceEpoch(std::llround(utcSeconds * 1000)),
                                 QStringLiteral("d MMM yyyy HH:mm"));
}

QString formatClock(double utcSeconds) {
    if (!(utcSeconds > 0))
        return QStringLiteral("--:--:--");
    return QDateTime::fromMSecsSinceEpoch(std::llround(utcSeconds * 1000))
        .time()
        .toString(QStringLiteral("HH:mm:ss"));
}

QString plainText(const QString& text, qsizetype limit) {
    QString plain;
    plain.reserve(std::min(text.size(), limit));
    for (const QChar c : text) {
        if (plain.size() >= limit) {
            if (plain.back().isHighSurrogate())
                plain.chop(1);
            return plain + QChar(0x2026);
        }
        const ushort code = c.unicode();
        if (code == '\t')
            plain += QLatin1String("    ");
        else if (code < 0x20)
            plain += QChar(0x2400 + code);
        else if (code == 0x7F)
            plain += QChar(0x2421);
        else if ((code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069))
            continue;
        else
            plain += c;
    }
    return plain;
}

} // namespace lockstep::ui
