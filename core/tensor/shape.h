// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The dimensions of an array, outermost first. Row-major everywhere.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace lockstep::tensor {

class Shape {
public:
    Shape() = default;
    Shape(std::initializer_list<std::int64_t> dims)
        : m_dims(dims) {}
    explicit Shape(std::vector<std::int64_t> dims)
        : m_dims(std::move(dims)) {}

    std::size_t rank() const { return m_dims.size(); }
    const std::vector<std::int64_t>& dims() const { return m_dims; }
    std::int64_t operator[](std::size_t axis) const { return m_dims[axis]; }
    /// The innermost dimension; 1 for a scalar.
    std::int64_t last() const { return m_dims.empty() ? 1 : m_dims.back(); }
    /// The product; 1 for a scalar.
    std::int64_t elements() const;

    /// "(3, 4)", "(3,)": as Keras prints it.
    std::string text() const;
    /// With a batch in front, as Keras prints it: "(None, 3, 4)".
    std::string batchText() const;

    bool operator==(const Shape&) const = default;

private:
    std::vector<std::int64_t> m_dims;
};

} // namespace lockstep::tensor
