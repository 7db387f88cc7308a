# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: Lockstep contributors
# shellcheck shell=bash
# describe.sh LAB: writes what a user of the lab needs: ssh_config, known_hosts, lab.cluster.json,
# env, and the controller's own /etc/passwd and /etc/hosts.
set -euo pipefail
port="" shell="" via=""
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
lab="$1"
uid="${SUDO_UID:-0}"
gid="${SUDO_GID:-0}"

declare -A ssh=() ssh6=()
while read -r name network _ _ _ ip ip6; do
    case "$network" in
    s) ssh[$name]="$ip" ssh6[$name]="$ip6" ;;
    i) : "${ssh[$name]:=$ip}" "${ssh6[$name]:=$ip6}" ;;
    esac
done <"$lab/links"

{
    for shell in bash dash zsh fish tcsh rbash false; do
        printf 'Host *-%s\n    User %s\n' $shell $shell
    done
    while read -r name _; do
        [ -e "$lab/conf/$name" ] || continue
        # shellcheck source=/dev/null
        . "$lab/conf/$name"
        printf 'Host %s %s-*\n    HostName %s\n    Port %s\n    User %s\n' \
            "$name" "$name" "${ssh[$name]}" "$port" "$shell"
        [ -z "$via" ] || printf '    ProxyJump %s\n' "$via"
        # The same host by its IPv6 address, where no host is called so (n1 and n16).
        [ ! -e "$lab/conf/${name}6" ] || continue
        printf 'Host %s6\n    HostName %s\n    Port %s\n    User %s\n' \
            "$name" "${ssh6[$name]}" "$port" "$shell"
        [ -z "$via" ] || printf '    ProxyJump %s\n' "$via"
    done <"$lab/spec"
    cat <<EOF
Host *
    IdentityFile $lab/home/.ssh/id_ed25519
    IdentitiesOnly yes
    UserKnownHostsFile $lab/known_hosts
    GlobalKnownHostsFile /dev/null
    StrictHostKeyChecking yes
EOF
} >"$lab/ssh_config"

for file in "$lab"/conf/*; do
    name="${file##*/}"
    # shellcheck source=/dev/null
    . "$file"
    read -r type key _ <"$lab/keys/$name.pub"
    for address in "${ssh[$name]}" "${ssh6[$name]}"; do
        [ "$port" = 22 ] || address="[$address]:$port"
        echo "$address $type $key"
    done
done >"$lab/known_hosts"

bash "$here/cluster.sh" "$lab" >"$lab/lab.cluster.json"

cp "$lab/ssh_config" "$lab/home/.ssh/config"
cp "$lab/known_hosts" "$lab/home/.ssh/known_hosts"
cp "$lab/lab.cluster.json" "$lab/home/"
account="$(getent passwd "$uid")"
IFS=: read -r user _ _ _ _ _ login <<<"$account"
{
    echo "$user:x:$uid:$gid::$lab/home:$login"
    getent passwd | awk -F: -v uid="$uid" '$3 != uid'
} >"$lab/controller/passwd"
{
    printf '127.0.0.1 localhost\n::1 localhost ip6-localhost\n127.0.1.1 %s\n' "$(uname -n)"
    for name in "${!ssh[@]}"; do
        [ "$name" = controller ] || echo "${ssh[$name]} $name"
    done
} >"$lab/controller/hosts"
chmod 700 "$lab/home/.ssh"
chown -R "$uid:$gid" "$lab/home" "$lab/known_hosts"
cat >"$lab/env" <<EOF
export LOCKSTEP_LAB=$lab
export LOCKSTEP_LAB_PASSWORD=$(cat "$lab/password")
export PATH=$here:\$PATH
EOF
chmod 600 "$lab/env"
chown "$uid:$gid" "$lab/env"
