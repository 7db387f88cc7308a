// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// One measured quantity over x (a step or an epoch), kept so that any range can be drawn in a few
// hundred columns and no extreme is ever lost. A value that is not finite is a mark and a break in
// the line, never a zero.
// Thread: none of its own; one owner. Memory: at most `capacity` samples of 20 bytes and a tenth
// of that on top; when full, neighbours are merged in pairs that keep minimum and maximum.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace lockstep::metrics {

enum class NonFinite { NaN, PlusInfinity, MinusInfinity };

struct Mark {
    double x = 0;
    NonFinite kind = NonFinite::NaN;
    bool operator==(const Mark&) const = default;
};

/// What is to be drawn at one x: a single sample (count 1), or all samples of a pixel column.
struct Column {
    double x = 0;    ///< of the last sample in it
    double mean = 0; ///< of the samples, as they were appended
    double min = 0;
    double max = 0;
    std::int64_t count = 1;
    bool breakBefore = false; ///< a non-finite value lies between the column before and this one
    bool operator==(const Column&) const = default;
};

struct Decimated {
    std::vector<Column> columns; ///< in x order
    std::vector<Mark> marks;     ///< at most one of each kind per column width
    std::int64_t samples = 0;    ///< appended values that the columns stand for
    double min = 0;              ///< over the columns; 0 and 0 where there are none
    double max = 0;
};

class Series {
public:
    static constexpr std::size_t kDefaultCapacity = std::size_t{1} << 20;

    explicit Series(std::size_t capacity = kDefaultCapacity);

    /// Adds an aggregate at `x`, which should grow: an x at or before the last one replaces all
    /// from there on (a restarted run repeats its steps). Not finite in any part: a mark.
    void append(double x, double mean, double min, double max);
    void append(double x, double value) { append(x, value, value, value); }

    /// Samples kept, after merging.
    std::size_t size() const { return m_x.size(); }
    bool isEmpty() const { return m_x.empty() && m_marks.empty(); }
    /// Non-finite values appended.
    std::int64_t nonFiniteCount() const { return m_nonFinite; }
    double firstX() const; ///< of samples and marks; 0 when empty
    double lastX() const;
    /// The newest value as appended, NaN and infinities too; NaN when empty.
    double lastValue() const { return m_lastValue; }

    /// At most `columns` columns for [xFrom, xTo], and one sample more on each side where there is
    /// one, so that a line runs off the edge. Every extreme in the range is in some column. Raw
    /// samples where they are fewer than the columns. Cost: columns × log(size).
    Decimated decimate(double xFrom, double xTo, int columns) const;

    /// Lowers or raises how much is kept; lowering merges at once.
    void setCapacity(std::size_t capacity);
    /// Appended values per kept sample: 1 as long as nothing was merged.
    std::int64_t merged() const { return m_merged; }

private:
    struct Node {
        float mean;
        float min;
        float max;
    };

    void truncate(double x);
    void pushLevels();
    void rebuildLevels();
    void halve();
    Node combine(const Node* nodes, std::size_t count) const;
    Column columnOf(std::size_t from, std::size_t to) const;
    std::size_t lowerBound(double x) const;
    bool hasMarkBetween(double after, double before) const;
    void addColumn(Decimated& out, std::size_t from, std::size_t to) const;
    void addMarks(Decimated& out, double xFrom, double xTo, double width) const;

    std::size_t m_capacity;
    std::vector<double> m_x;
    std::vector<Node> m_samples;
    std::vector<std::vector<Node>> m_levels; ///< [k]: one node for 16^(k+1) samples, full ones only
    std::vector<Mark> m_marks;
    std::int64_t m_nonFinite = 0;
    std::int64_t m_merged = 1;
    std::int64_t m_lastWeight = 0; ///< appended values in the last kept sample
    double m_lastValue = std::numeric_limits<double>::quiet_NaN();
};

} // namespace lockstep::metrics
