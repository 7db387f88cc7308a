// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Products on the processor by oneDNN. Threads and failures as in backend.h.

#include "core/tensor/backend.h"

#include <memory>

namespace lockstep::tensor::detail {

class MatmulMaker {
public:
    /// Products large enough to gain from it run on up to `threads` threads.
    explicit MatmulMaker(int threads);
    ~MatmulMaker();
    std::unique_ptr<Matmul> prepare(const MatmulSpec& spec);

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace lockstep::tensor::detail
