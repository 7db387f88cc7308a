// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/collective/verdict.h"

namespace lockstep::collective {

const char* kindName(VerdictKind kind) {
    switch (kind) {
    case VerdictKind::Killed:
        return "killed";
    case VerdictKind::Frozen:
        return "frozen";
    case VerdictKind::CutOff:
        return "cut_off";
    case VerdictKind::NotJoined:
        return "not_joined";
    case VerdictKind::Refused:
        return "refused";
    case VerdictKind::Failed:
        return "failed";
    case VerdictKind::Stopped:
        return "stopped";
    case VerdictKind::Stalled:
        return "stalled";
    }
    return "failed";
}

Error toError(const Verdict& verdict) {
    Code code = Code::PeerLost;
    if (verdict.kind == VerdictKind::NotJoined || verdict.kind == VerdictKind::Stalled)
        code = Code::TimedOut;
    else if (verdict.kind == VerdictKind::Refused)
        code = Code::Unauthenticated;
    else if (verdict.kind == VerdictKind::Stopped)
        code = Code::Cancelled;
    return Error{code, verdict.sentence, verdict.task};
}

} // namespace lockstep::collective
