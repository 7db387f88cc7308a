# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: Lockstep contributors
# Fed to `exec /bin/sh` (or `sh`) of a host over SSH. One compound command, so that a shell that reads
# ahead has nothing of ours left to swallow. Uses cat, mkdir, chmod, mv, rm, id, uname and no more.
# @MARK@ (random), @HASH@ (of the helper) and @MODE@ are put in by the control side; user data never
# is. Lines that begin with the mark are for the control side, anything else is a start-up file's.
{
    umask 077
    say() { echo "@MARK@ $*"; }

    # architecture.md, "What is written where"
    uid=$(id -u)
    set --
    case ${XDG_DATA_HOME-} in /*) set -- "$@" "$XDG_DATA_HOME/lockstep" ;; esac
    case ${HOME-} in /*) set -- "$@" "$HOME/.local/share/lockstep" ;; esac
    case ${TMPDIR-} in /*) set -- "$@" "$TMPDIR/lockstep-$uid" ;; esac
    set -- "$@" "/tmp/lockstep-$uid" "/dev/shm/lockstep-$uid"

    # In folders where everyone may write, only one that is ours will do.
    ours() {
        case $1 in
        /tmp/* | /dev/shm/* | "${TMPDIR-/nowhere}"/*) [ ! -L "$1" ] && [ -O "$1" ] ;;
        *) true ;;
        esac
    }

    serve() {
        for base in "$@"; do
            helper=$base/helper/@HASH@
            if [ -x "$helper" ] && ours "$base" && "$helper" --version >/dev/null 2>&1; then
                say serve
                exec "$helper" serve @HASH@
            fi
        done
        say "missing $(uname -m)"
    }

    receive() {
        part=
        for base in "$@"; do
            if [ -z "$part" ]; then
                if ! mkdir -p "$base/helper" 2>/dev/null || ! ours "$base" ||
                    ! (: >"$base/helper/@HASH@.$$") 2>/dev/null; then
                    say "passed $base: it cannot be written to"
                    continue
                fi
                part=$base/helper/@HASH@.$$
                say send
                if ! cat >"$part"; then
                    rm -f "$part"
                    part=
                    say "passed $base: there is no room"
                    break
                fi
                here=$part
            else
                here=$base/helper/@HASH@.$$
                mkdir -p "$base/helper" 2>/dev/null && ours "$base" &&
                    cat "$part" >"$here" 2>/dev/null || continue
            fi
            chmod 700 "$base/helper" "$here" 2>/dev/null
            if "$here" --version >/dev/null 2>&1; then
                mv -f "$here" "$base/helper/@HASH@"
                [ "$here" = "$part" ] || rm -f "$part"
                say "put $base"
                exit 0
            fi
            say "passed $base: programs cannot be executed from it"
            [ "$here" = "$part" ] || rm -f "$here"
        done
        [ -z "$part" ] || rm -f "$part"
        say "nowhere"
        exit 1
    }

    @MODE@ "$@"
    exit
}
