#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: Lockstep contributors
# From a fresh Debian 12 to a trained model: installs what is missing, builds, and opens the window
# with the digits example, or trains it in the terminal.
set -euo pipefail

usage() {
    cat <<'EOF'
Usage: packaging/run.sh [--headless] [--help]

Installs the Debian packages that are missing (with sudo where needed), builds Lockstep into
build/release, and opens the window with the digits example on two workers of this machine.

  --headless   train in the terminal instead; also where there is no display
  --help       show this

Exit status: 0 done, 1 the run failed or the build did not work, 2 wrong arguments or input.
EOF
}

headless=no
for argument in "$@"; do
    case "$argument" in
    --headless) headless=yes ;;
    --help | -h)
        usage
        exit 0
        ;;
    *)
        echo "Unknown argument: $argument" >&2
        usage >&2
        exit 2
        ;;
    esac
done
if [ "$headless" = no ] && [ -z "${DISPLAY:-}" ] && [ -z "${WAYLAND_DISPLAY:-}" ]; then
    echo "There is no display here (DISPLAY is not set), so this trains in the terminal."
    headless=yes
fi

cd "$(dirname "${BASH_SOURCE[0]}")/.."
. packaging/packages.sh
lockstep_install build run

# Configured once; afterwards the build does it itself where its files changed.
if [ ! -f build/release/build.ninja ]; then
    echo "Building Lockstep for the first time; this takes some minutes."
    cmake --preset release
fi
# A build with nothing to do says one line, which is of no use here.
cmake --build --preset release | { grep -v '^ninja: no work to do' || true; }

cluster=resources/examples/digits/digits.cluster.json
job=resources/examples/digits/digits.job.json
if [ "$headless" = yes ]; then
    exec build/release/bin/lockstepctl run "$job" --cluster "$cluster"
fi
exec build/release/bin/lockstep "$cluster" "$job"
