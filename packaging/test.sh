#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: Lockstep contributors
# Builds a preset and runs its tests. The last lines are ctest's, the exit status too.
set -euo pipefail

usage() {
    cat <<'EOF'
Usage: packaging/test.sh [PRESET] [--slow] [-- CTEST_ARGUMENT...]

PRESET is dev (the default), asan, tsan or clang. Installs the Debian packages that are missing,
builds the preset into build/PRESET and runs its tests, the checks of architecture and format among
them. Tests with the label slow or bench run only with --slow.

As root, a test that cannot run for want of a tool fails; set LOCKSTEP_REQUIRE= (empty) to let it
skip, or name what must be there: LOCKSTEP_REQUIRE=netns,format,lab,sshd.
EOF
}

preset=dev
slow=no
while [ $# -gt 0 ]; do
    case "$1" in
    --slow) slow=yes ;;
    --help | -h)
        usage
        exit 0
        ;;
    --)
        shift
        break
        ;;
    dev | asan | tsan | clang) preset="$1" ;;
    *)
        echo "Unknown argument: $1" >&2
        usage >&2
        exit 2
        ;;
    esac
    shift
done

cd "$(dirname "${BASH_SOURCE[0]}")/.."
. packaging/packages.sh
sections=(build run test)
[ "$preset" != clang ] || sections+=(clang)
lockstep_install "${sections[@]}"

# Skips become failures where everything that tests need can be had.
if [ -z "${LOCKSTEP_REQUIRE+set}" ] && [ "$(id -u)" -eq 0 ]; then
    export LOCKSTEP_REQUIRE=netns,format,lab,sshd
fi

export CCACHE_BASEDIR="$PWD"
cmake --preset "$preset"
cmake --build --preset "$preset"

# The preset's own list leaves slow and bench out, and a second filter would only narrow it.
if [ "$slow" = yes ]; then
    exec ctest --test-dir "build/$preset" --output-on-failure --no-tests=error "$@"
fi
exec ctest --preset "$preset" "$@"
