// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/tensor/buffer.h"

#include "core/base/failure.h"

#include <cstdlib>
#include <cstring>

namespace lockstep::tensor {

Buffer::Buffer(std::size_t elements)
    : m_elements(elements) {
    if (elements == 0)
        return;
    // A tebibyte: more is a mistake in the model, and sanitizers end a process that asks for it.
    constexpr std::size_t most = std::size_t{1} << 38;
    const std::size_t bytes =
        elements <= most ? (this->bytes() + alignment - 1) / alignment * alignment : 0;
    m_data.reset(bytes ? static_cast<float*>(std::aligned_alloc(alignment, bytes)) : nullptr);
    if (!m_data)
        throw Failure(Code::OutOfMemory, "Could not get memory for " + std::to_string(elements) +
                                             " numbers. Take a smaller model or batch.");
    std::memset(m_data.get(), 0, bytes);
}

void Buffer::Free::operator()(float* data) const {
    std::free(data);
}

} // namespace lockstep::tensor
