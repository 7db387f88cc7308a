# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: Lockstep contributors
# shellcheck shell=bash
# Sourced by run.sh and test.sh: installs the Debian packages that are missing, and says which.

# Packages of the named sections of debian-packages.txt.
lockstep_packages() {
    local section list
    list="$(dirname "${BASH_SOURCE[0]}")/debian-packages.txt"
    for section in "$@"; do
        sed -n "/^\[$section\]/,/^\[/{/^[a-z0-9]/p}" "$list"
    done
}

# lockstep_install SECTION...: nothing where all are there already (some 20 ms), so that it can
# stand at the top of every start.
lockstep_install() {
    local wanted installed missing
    wanted="$(lockstep_packages "$@" | sort -u)"
    if ! command -v dpkg-query >/dev/null; then
        echo "This is not Debian, so nothing is installed. Needed are, by their names in Debian 12:"
        echo "$wanted" | tr '\n' ' '
        echo
        return 0
    fi
    # shellcheck disable=SC2086,SC2016
    installed="$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $wanted 2>/dev/null |
        sed -n 's/^installed //p' | sort -u)" || true
    missing="$(comm -23 <(echo "$wanted") <(echo "$installed") | tr '\n' ' ')"
    [ -n "${missing// /}" ] || return 0

    local root=()
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "Missing are these Debian packages, and neither root nor sudo is here. Run as root:" >&2
            echo "    apt-get install --no-install-recommends $missing" >&2
            return 1
        fi
        root=(sudo)
    fi
    echo "Installing Debian packages: $missing"
    "${root[@]}" apt-get update -qq ||
        echo "apt-get update failed; going on with the lists that are here." >&2
    # shellcheck disable=SC2086
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y \
        --no-install-recommends $missing >/dev/null || {
        echo "apt-get could not install them (see above). Run this again when it can." >&2
        return 1
    }
}
