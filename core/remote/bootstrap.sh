# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: Lockstep contributors
# Fed to `exec /bin/sh` (or `sh`) of a host over SSH. One compound command, so that a shell that reads
# ahead has nothing of ours left to swallow; what follows is sent only when it was asked for. Uses
# cat, mkdir, chmod, mv, id, uname and no more. The control side puts in @MARK@ (random), @HASH@ (of
# the helper), @MODE@ and what that needs; user data never. Lines that begin with the mark are for
# the control side, anything else is a start-up file's.
{
    umask 077
    say() { echo "@MARK@ $*"; }

    # architecture.md, "What is written where"
    uid=$(id -u)
    set --
    if [ @BASE@ = given ]; then
        say base
        IFS= read -r base
        set -- "$base"
    else
        case ${XDG_DATA_HOME-} in /*) set -- "$@" "$XDG_DATA_HOME/lockstep" ;; esac
        case ${HOME-} in /*) set -- "$@" "$HOME/.local/share/lockstep" ;; esac
        case ${TMPDIR-} in /*) set -- "$@" "$TMPDIR/lockstep-$uid" ;; esac
        set -- "$@" "/tmp/lockstep-$uid" "/dev/shm/lockstep-$uid"
    fi

    # "public": a folder that lies where everyone may write.
    kind() {
        case @BASE@$1 in
        */"lockstep-$uid") [ @BASE@ = given ] && echo own || echo public ;;
        *) echo own ;;
        esac
    }

    # There, only what is this user's will do.
    ours() { [ "$(kind "$base")" = own ] || { [ ! -L "$1" ] && [ -O "$1" ]; }; }

    # $2, a whole helper in $1, runs there, and finds nothing wrong with the folder.
    check() {
        why=$("$2" check "$2" @HASH@ "$1" "$(kind "$1")" 2>/dev/null </dev/null) && return
        say "passed $1: ${why:-programs cannot be executed from it}"
        return 1
    }

    # $1 can be written to: makes $2 in it.
    open() {
        if [ -e "$1" ] && ! ours "$1"; then
            say "passed $1: it is not a folder of this user"
            return 1
        fi
        why=$( (mkdir -p "$1/helper" && : >"$2") 2>&1) && return
        say "passed $1: ${why##*: }"
        return 1
    }

    serve() {
        for base in "$@"; do
            helper=$base/helper/@HASH@
            if [ -x "$helper" ] && ours "$base" && ours "$helper" && check "$base" "$helper"; then
                say serve
                exec "$helper" serve @HASH@
            fi
        done
        say "missing $(uname -m)"
    }

    # Nothing is run here: what arrived may be a part.
    receive() {
        count=0
        for base in "$@"; do
            count=$((count + 1))
            [ $count -gt @SKIP@ ] || continue
            part=$base/helper/@HASH@.@PART@
            open "$base" "$part" || continue
            say send
            if cat >"$part"; then
                say got
            else
                : >"$part"
                say "passed $base: there is no room"
                say "full $count"
            fi
            exit
        done
        say nowhere
    }

    # After the control side heard that all of it was sent.
    finish() {
        part=
        for base in "$@"; do
            here=$base/helper/@HASH@.@PART@
            if [ -s "$here" ]; then
                part=$here
            elif [ -z "$part" ] || ! open "$base" "$here" || ! mv -f "$part" "$here"; then
                continue
            fi
            part=$here
            chmod 700 "$base/helper" "$here"
            if check "$base" "$here"; then
                mv -f "$here" "$base/helper/@HASH@"
                say serve
                exec "$base/helper/@HASH@" serve @HASH@
            fi
        done
        say nowhere
    }

    @MODE@ "$@"
    exit
}
