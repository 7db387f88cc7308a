// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The processor as a Backend: oneDNN for products, loops of ours for the rest.

#include "core/tensor/backend.h"

#include <memory>

namespace lockstep::tensor {

/// `threads` >= 1 is the largest number of threads of one product; small ones
/// take fewer. Results differ in the last bits between
/// numbers of threads, so it is decided before step 1. Under TSan it is always 1, because TSan sees
/// false races in OpenMP's barriers.
std::unique_ptr<Backend> makeCpuBackend(int threads);

/// The vector units that oneDNN uses here, for the record of a run: "avx512_core", "avx2", ...
const char* cpuInstructionSet();

} // namespace lockstep::tensor
