// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// How many threads this worker computes with.

namespace lockstep::train {

/// Cores that this process may really use: its affinity, and its cgroup's CPU quota (v2 and v1)
/// rounded up. At least 1.
int usableCores();

/// A worker's share of them where `workersHere` workers run on this machine. At least 1.
int shareOfCores(int cores, int workersHere);

} // namespace lockstep::train
