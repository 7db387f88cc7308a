// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Writes down when a log grew, beside it (wire/output_times.h).

#include "core/agent/detail/descriptor.h"
#include "core/wire/output_times.h"

#include <string>

namespace lockstep::agent::detail {

class OutputClock {
public:
    /// `log` must outlive this. Without a place to write, or where the log holds bytes of an
    /// earlier process, nothing is written: times are a help, never a reason not to start.
    OutputClock(int log, const std::string& path);

    /// Looks whether the log grew.
    void look();
    int descriptor() const { return m_file.get(); }

private:
    int m_log;
    Descriptor m_file;
    wire::OutputTimesWriter m_writer;
};

} // namespace lockstep::agent::detail
