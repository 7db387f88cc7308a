# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: Lockstep contributors
# shellcheck shell=bash
# cluster.sh LAB [HOST...]: a cluster document of these hosts (default: all but jump hosts), each at
# port 2222 of its address on the data network, or 2223 where its sshd has 2222. HOST@ACCOUNT logs
# in with another account.
set -euo pipefail
lab="$1"
shift
if [ $# -eq 0 ]; then
    while read -r name network _; do
        [ "$network" != d ] || set -- "$@" "$name"
    done <"$lab/links"
fi
printf '{"format": "lockstep-cluster", "version": 1, "name": "lab",\n "workers": [\n'
separator=""
for word in "$@"; do
    address=""
    port=2222
    ! grep -q "^${word%@*} .*\bport=2222\b" "$lab/spec" || port=2223
    while read -r name network _ _ _ ip _; do
        [ "$name" != "${word%@*}" ] || [ "$network" != d ] || address="$ip:$port"
    done <"$lab/links"
    [ -n "$address" ] || { echo "cluster.sh: ${word%@*} has no address for workers" >&2 && exit 2; }
    printf '%b   {"name": "%s", "ssh": "%s", "address": "%s"}' "$separator" "${word%@*}" "${word/@/-}" "$address"
    separator=",\n"
done
printf ']}\n'
