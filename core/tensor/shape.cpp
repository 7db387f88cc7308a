// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/tensor/shape.h"

namespace lockstep::tensor {

namespace {

std::string join(const std::vector<std::int64_t>& dims) {
    std::string text;
    for (const std::int64_t dim : dims)
        text += (text.empty() ? "" : ", ") + std::to_string(dim);
    return text;
}

} // namespace

std::int64_t Shape::elements() const {
    std::int64_t product = 1;
    for (const std::int64_t dim : m_dims)
        product *= dim;
    return product;
}

std::string Shape::text() const {
    return "(" + join(m_dims) + (m_dims.size() == 1 ? ",)" : ")");
}

std::string Shape::batchText() const {
    return m_dims.empty() ? "(None,)" : "(None, " + join(m_dims) + ")";
}

} // namespace lockstep::tensor
