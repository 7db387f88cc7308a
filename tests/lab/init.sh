# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: Lockstep contributors
# shellcheck shell=bash
# init.sh LAB: process 1 of a lab, started by up in new namespaces: makes the networks and the hosts,
# says "ready" on descriptor 3, and holds everything. Its own network is the controller's.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
lab="$1"

mount --make-rprivate /
mount -t proc proc /proc
mkdir -p "$lab/hosts" "$lab/keys" "$lab/conf"
mount -t tmpfs -o mode=755 lab "$lab/hosts"
mkdir "$lab/hosts/.net" "$lab/hosts/.template"
trap 'echo "its init failed, see above" >&3' ERR

fail() {
    echo "$*" | tee /dev/fd/2 >&3
    exit 1
}

# The spec, one file a host to source.
names=()
jumps=()
declare -A inner=()
index=10
while read -r name words; do
    case "$name" in "" | \#*) continue ;; esac
    [[ "$name" =~ ^[a-z][a-z0-9-]{0,10}$ ]] || fail "the host's name $name is not [a-z][a-z0-9-]*, 11 letters at most"
    [ ! -e "$lab/conf/$name" ] || fail "the host $name is there twice"
    shell=bash port=22 root="" via="" noisy="" jump=""
    for word in $words; do
        case "$word" in
        shell=*) shell="${word#*=}" ;;
        port=*) port="${word#*=}" ;;
        root=*) root="${word#*=}" ;;
        via=*) via="${word#*=}" ;;
        noisy) noisy=yes ;;
        jump) jump=yes ;;
        *) fail "the host $name: unknown word $word" ;;
        esac
    done
    names+=("$name")
    [ -z "$jump" ] || jumps+=("$name")
    [ -z "$via" ] || inner[$via]=yes
    printf '%s\n' "index=$index" "shell=$shell" "port=$port" "root=$root" "via=$via" "noisy=$noisy" \
        "jump=$jump" >"$lab/conf/$name"
    index=$((index + 1))
done <"$lab/spec"
((${#names[@]} > 0 && index <= 250)) || fail "a lab has 1 to 240 hosts"
for name in "${!inner[@]}"; do
    [ -e "$lab/conf/$name" ] || fail "there is no jump host $name"
done

# The networks: a switch with a bridge for each, a link from each host's namespace to it. Fixed
# hardware addresses, so that rules can name a host whatever is plugged in between.
net() { nsenter --net="$lab/hosts/.net/$1" -- "${@:2}"; }
for name in switch "${names[@]}"; do
    : >"$lab/hosts/.net/$name"
    unshare --net="$lab/hosts/.net/$name" true
done
: >"$lab/links"
# link HOST NETWORK DEVICE INDEX: a line in links, the commands to make both ends.
link() {
    local number prefix prefix6 target="$lab/hosts/.net/$1" port="$2-$1" mac
    case "$2" in
    s) number=1 prefix=192.168.77. prefix6=fd77:: ;;
    d) number=2 prefix=10.77.0. prefix6=fd10:: ;;
    i) number=3 prefix=192.168.78. prefix6=fd78:: ;;
    esac
    printf -v mac '02:4c:53:00:%02x:%02x' "$number" "$4"
    [ "$1" != controller ] || target=/proc/1/ns/net
    echo "$1 $2 $3 $port $mac $prefix$4 $prefix6$4" >>"$lab/links"
    echo "link add $port type veth peer name $3 netns $target" >>"$batch.switch"
    echo "link set $port master br-$2 up" >>"$batch.switch"
    cat >>"$batch.$1" <<EOF
link set lo up
link set $3 address $mac up
addr add $prefix$4/24 dev $3
addr add $prefix6$4/64 dev $3 nodad
EOF
}
batch="$lab/hosts/.template/batch"
for network in s d i; do
    echo "link add br-$network type bridge mcast_snooping 0"
    echo "link set br-$network up"
done >"$batch.switch"
link controller s eth0 1
for name in "${names[@]}"; do
    # shellcheck source=/dev/null
    . "$lab/conf/$name"
    device=0
    if [ -z "$via" ]; then
        link "$name" s eth$((device++)) "$index"
    fi
    if [ -n "$via" ] || [ -n "${inner[$name]:-}" ]; then
        link "$name" i eth$((device++)) "$index"
    fi
    if [ -z "$jump" ]; then
        link "$name" d eth$((device++)) "$index"
    fi
done
net switch ip -batch "$batch.switch"
ip -batch "$batch.controller"
for name in "${names[@]}"; do
    net "$name" ip -batch "$batch.$name"
done
rm "$batch".*

# What the hosts' roots have in common.
export LAB_PASSWORD_HASH
LAB_PASSWORD_HASH="$(openssl passwd -6 -stdin <"$lab/password")"
for name in "${names[@]}"; do
    # shellcheck source=/dev/null
    . "$lab/conf/$name"
    [ -e "$lab/hosts/.template/${root:-machine}" ] || bash "$here/template.sh" "$lab" "$root"
done

for name in "${names[@]}"; do
    ssh-keygen -q -t ed25519 -N '' -C "$name" -f "$lab/keys/$name"
    bash "$here/host.sh" start "$lab" "$name" 3>&- &
    starting+=($!)
    # Two at a time: more only makes each of them slower.
    if [ ${#starting[@]} -ge 4 ]; then
        wait "${starting[0]}"
        starting=("${starting[@]:1}")
    fi
done
for pid in "${starting[@]}"; do
    wait "$pid"
done

echo ready >&3
exec 3>&-
trap - ERR
while :; do
    sleep infinity &
    wait $! || true
done
