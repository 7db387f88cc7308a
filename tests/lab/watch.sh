# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: Lockstep contributors
# shellcheck shell=bash
# watch.sh LAB PID: removes the lab when the process ends. Started by up, in a group of its own.
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
process_identity $$ >"$1/watcher"
tail --pid="$2" -s 0.5 -f /dev/null
remove_lab "$1"
