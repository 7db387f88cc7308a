// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Float memory that vector units and network cards like: aligned to 64 bytes, zeroed, never
// resized.

#include "core/tensor/dtype.h"

#include <cstddef>
#include <memory>
#include <span>

namespace lockstep::tensor {

/// Move-only. The address stays the same for the buffer's life, also over a move.
class Buffer {
public:
    static constexpr std::size_t alignment = 64;

    Buffer() = default;
    /// `elements` zeros; 0 is allowed. Throws Failure{OutOfMemory} naming the size.
    explicit Buffer(std::size_t elements);

    std::span<float> span() { return {m_data.get(), m_elements}; }
    std::span<const float> span() const { return {m_data.get(), m_elements}; }
    std::size_t size() const { return m_elements; }
    std::size_t bytes() const { return m_elements * byteSize(DType::Float32); }

private:
    struct Free {
        void operator()(float* data) const;
    };
    std::unique_ptr<float[], Free> m_data;
    std::size_t m_elements = 0;
};

} // namespace lockstep::tensor
