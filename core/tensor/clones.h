// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// LOCKSTEP_CLONES before a plain function compiles it for several vector units and picks one at run
// time, so that the worker needs no more than x86-64-v2. Together with -ffp-contract=off and only
// + - * / sqrt in the loop, every variant gives the same bits.

#if defined(__x86_64__) && !defined(LOCKSTEP_TSAN)
#define LOCKSTEP_CLONES                                                                            \
    __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
// TSan crashes in the resolver, which runs before it is set up.
#define LOCKSTEP_CLONES
#endif
