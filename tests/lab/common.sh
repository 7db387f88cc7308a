# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: Lockstep contributors
# shellcheck shell=bash
# Sourced by up, down, exec and lab: where labs are kept, whose they are, and how to get into one.
# A lab is the tree of processes below one `unshare`, in PID, mount, network, UTS and IPC namespaces
# of its own. Every mount, interface and rule lives in them, so a lab is gone with that one process.

LAB_STATE=/run/lockstep-lab

complain() {
    echo "lab: $*" >&2
    exit 1
}

need_root() {
    [ "$(id -u)" -eq 0 ] || complain "must be run as root (it makes namespaces): sudo $0"
}

# process_identity PID: its pid and start time, which no later process has; fails when it is gone.
process_identity() {
    local stat
    { stat="$(<"/proc/$1/stat")"; } 2>/dev/null || return 1
    # shellcheck disable=SC2086
    set -- "$1" ${stat##*) }
    [ "$2" != Z ] && echo "$1 ${21}"
}

# is_alive FILE: the process whose identity is written there still runs.
is_alive() {
    local identity
    { read -r identity <"$1"; } 2>/dev/null || return 1
    [ "$(process_identity "${identity%% *}")" = "$identity" ]
}

# find_lab [DIR]: sets `lab` to the folder given, to $LOCKSTEP_LAB, or to the only lab that there is.
find_lab() {
    lab="${1:-${LOCKSTEP_LAB:-}}"
    if [ -z "$lab" ]; then
        local all=()
        for dir in "$LAB_STATE"/*/; do
            [ -e "$dir/ready" ] && all+=("${dir%/}")
        done
        case ${#all[@]} in
        1) lab="${all[0]}" ;;
        0) complain "no lab is up; start one with tests/lab/up" ;;
        *) complain "several labs are up; name one by --lab or LOCKSTEP_LAB: ${all[*]}" ;;
        esac
    fi
    [ -e "$lab/ready" ] || complain "$lab is not a lab that is up"
    is_alive "$lab/holder" || complain "the lab $lab has died; see $lab/log/lab.log, then run tests/lab/down"
    read -r lab_pid _ <"$lab/init"
}

# into_lab COMMAND...: inside all of the lab's namespaces, as its controller.
into_lab() {
    nsenter --target "$lab_pid" --mount --net --pid --uts --ipc -- "$@"
}

# remove_lab DIR: ends its processes and removes its folder. Safe to repeat.
remove_lab() {
    local pid
    if is_alive "$1/watcher"; then
        read -r pid _ <"$1/watcher"
        # The watcher itself may be what runs this.
        [ "$(ps -o pgid= -p $$ | tr -d ' ')" = "$pid" ] || kill -KILL -- "-$pid" 2>/dev/null || true
    fi
    for role in init holder; do
        if is_alive "$1/$role"; then
            read -r pid _ <"$1/$role"
            kill -KILL "$pid" 2>/dev/null || true
        fi
    done
    local tries=0
    while is_alive "$1/holder" && [ $((tries += 1)) -le 500 ]; do
        sleep 0.02
    done
    ! is_alive "$1/holder" || complain "the lab $1 does not end"
    rm -rf --one-file-system -- "$1"
    rmdir "$LAB_STATE" 2>/dev/null || true
}

# Removes labs whose owner, or whose maker before they were ready, is dead, and those that died.
reap_labs() {
    local dir
    for dir in "$LAB_STATE"/*/; do
        dir="${dir%/}"
        [ -e "$dir/maker" ] || continue
        is_alive "$dir/maker" && continue
        if [ -e "$dir/ready" ] && is_alive "$dir/holder" &&
            { [ ! -e "$dir/owner" ] || is_alive "$dir/owner"; }; then
            continue
        fi
        echo "lab: removing $dir, whose owner is gone" >&2
        remove_lab "$dir"
    done
}
