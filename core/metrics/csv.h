// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The metrics of a run as CSV (RFC 4180, LF, C locale, full precision): a function of the bytes of
// the workers' files alone, so that files from the hosts and from the run folder give the
// same text.

#include <string>
#include <vector>

namespace lockstep::metrics {

/// The bytes of one events.jsonl. A last line without LF is left out. A program of the user's own
/// writes none: Keras' progress lines in what it printed take their place.
struct EventsFile {
    std::string task; ///< "worker:0"
    int attempt = 1;
    std::string bytes;
    std::string output = {};      ///< stdout.log, looked at where there are no events
    std::string outputTimes = {}; ///< stdout.idx
};

struct Csv {
    std::string text;
    int unreadableLines = 0; ///< lines that are no events of this version, left out
};

/// One row per step event and epoch event, task by task in rank order, each task's in order of its
/// steps. Columns: kind (step | epoch), task, attempt, epoch, first_step, last_step, time (UTC),
/// seconds, rows, own_rows, learning_rate, loss_mean, loss_min, loss_max, then mean, min and max of
/// input, compute, all_reduce, all_reduce_wait, update and total in ms, digest, and the epochs'
/// values under Keras' names. Steps that a later attempt repeated are left out, so a task's step
/// rows cover each step once. A cell of what is not known is empty.
Csv toCsv(const std::vector<EventsFile>& files);

} // namespace lockstep::metrics
