# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: Lockstep contributors
# shellcheck shell=bash
# host.sh start LAB NAME: inside a lab's namespaces: boots one host and waits for its sshd. Its files
# outlive it in LAB/hosts/NAME; /tmp, /run, /dev/shm and the boot id are new with each boot.
set -euo pipefail
what="$1" lab="$2" name="$3"
files="$lab/hosts/$name"
port="" root="" noisy=""
# shellcheck source=/dev/null
. "$lab/conf/$name"

make_files() {
    local template="$lab/hosts/.template/${root:-machine}" other
    mkdir -p "$files/mnt" "$files/root" "$files/var/log" "$files/var/tmp"
    cp -a "$template/etc" "$files/etc"
    cp -a "$template/$([ -n "$noisy" ] && echo noisy || echo home)" "$files/home"
    chmod 700 "$files/root"
    chmod 1777 "$files/var/tmp"
    echo "$name" >"$files/etc/hostname"
    tr -d - </proc/sys/kernel/random/uuid >"$files/etc/machine-id"
    cp "$lab/keys/$name" "$files/etc/ssh/ssh_host_ed25519_key"
    echo "Port $port" >>"$files/etc/ssh/sshd_config"
    # As Debian has it: the own name is loopback.
    printf '127.0.0.1 localhost\n127.0.1.1 %s\n::1 localhost ip6-localhost\n' "$name" >"$files/etc/hosts"
    while read -r other network _ _ _ ip ip6; do
        [ "$other" != "$name" ] && [ "$network" = d ] && printf '%s %s\n%s %s\n' "$ip" "$other" "$ip6" "$other"
    done <"$lab/links" >>"$files/etc/hosts"
    : >"$lab/log/$name.log"
}

start() {
    [ -e "$files/etc" ] || make_files
    rm -rf "$files/tmp" "$files/run" "$files/shm"
    mkdir -p "$files/tmp" "$files/run/sshd" "$files/shm"
    chmod 1777 "$files/tmp" "$files/shm"
    cat /proc/sys/kernel/random/uuid >"$files/boot_id"
    setsid nsenter --net="$lab/hosts/.net/$name" -- unshare --mount --uts --ipc --pid --fork \
        bash "${BASH_SOURCE[0]}" init "$lab" "$name" </dev/null >>"$lab/log/$name.log" 2>&1 &
    local tries=0
    until [ -s "$files/run/sshd.pid" ]; do
        [ $((tries += 1)) -le 1500 ] || { echo "$name: its sshd did not start; see $lab/log/$name.log" >&2 && exit 1; }
        sleep 0.02
    done
}

# Process 1 of the host. Becomes its own bash once the root is its own.
init() {
    local source="${root:+$lab/roots/$root}" pid path mnt="$files/mnt"
    # /proc is still the lab's, so this is the pid by which the lab knows the host.
    read -r pid _ </proc/self/stat
    echo "$pid" >"$files/pid"
    echo "$name" >/proc/sys/kernel/hostname
    mount --make-rprivate /
    mount -t tmpfs -o size=1m,mode=755 root "$mnt"
    mkdir -p "$mnt"/{dev,etc,home,proc,root,run,sys,tmp,usr,var,.old}
    mount -o bind,ro "$source/usr" "$mnt/usr"
    for path in bin sbin lib lib32 lib64 libx32; do
        if [ -L "$source/$path" ]; then
            ln -s "$(readlink "$source/$path")" "$mnt/$path"
        elif [ -d "$source/$path" ]; then
            mkdir "$mnt/$path"
            mount -o bind,ro "$source/$path" "$mnt/$path"
        fi
    done
    for path in etc home root run tmp var; do
        mount --bind "$files/$path" "$mnt/$path"
    done
    : >"$files/var/log/sshd.log"
    mount --bind "$lab/log/$name.log" "$mnt/var/log/sshd.log"
    mount -t proc -o nosuid,nodev,noexec proc "$mnt/proc"
    mount --bind "$files/boot_id" "$mnt/proc/sys/kernel/random/boot_id"
    mount -t sysfs -o ro,nosuid,nodev,noexec sys "$mnt/sys"
    mount -t tmpfs -o nosuid,size=64k,mode=755 dev "$mnt/dev"
    mkdir "$mnt/dev/shm" "$mnt/dev/pts"
    mknod -m 666 "$mnt/dev/null" c 1 3
    mknod -m 666 "$mnt/dev/zero" c 1 5
    mknod -m 666 "$mnt/dev/full" c 1 7
    mknod -m 666 "$mnt/dev/random" c 1 8
    mknod -m 666 "$mnt/dev/urandom" c 1 9
    mknod -m 666 "$mnt/dev/tty" c 5 0
    ln -s /proc/self/fd "$mnt/dev/fd"
    ln -s fd/0 "$mnt/dev/stdin"
    ln -s fd/1 "$mnt/dev/stdout"
    ln -s fd/2 "$mnt/dev/stderr"
    ln -s pts/ptmx "$mnt/dev/ptmx"
    mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$mnt/dev/pts"
    mount --bind "$files/shm" "$mnt/dev/shm"
    cd "$mnt"
    pivot_root . .old
    # shellcheck disable=SC2016
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot . /bin/bash -c '
        umount -l /.old && rmdir /.old
        /usr/sbin/sshd -E /var/log/sshd.log
        while :; do sleep infinity & wait $!; done' init
}

"$what"
