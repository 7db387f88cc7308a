# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: Lockstep contributors
# shellcheck shell=bash
# template.sh LAB ROOT: makes LAB/hosts/.template/ROOT: the /etc and the /home that hosts with this
# root (empty: this machine's programs) get a copy of. Nothing of the machine's accounts is in it.
set -euo pipefail
lab="$1" root="$2"
source="${root:+$lab/roots/$root/}"
here="$lab/hosts/.template/${root:-machine}"
etc="$here/etc"
mkdir -p "$etc" "$here/home" "$here/noisy"

if [ -n "$root" ]; then
    cp -a "$lab/roots/$root/etc/." "$etc"
else
    for path in alternatives bash.bashrc csh csh.cshrc csh.login debian_version default fish gai.conf \
        host.conf inputrc ld.so.cache ld.so.conf ld.so.conf.d localtime login.defs os-release \
        profile protocols security services terminfo zsh; do
        [ ! -e "/etc/$path" ] || cp -a "/etc/$path" "$etc/"
    done
fi
rm -rf "$etc"/ssh/ssh_host_* "$etc/sudoers.d" "$etc/hostname" "$etc/resolv.conf"
mkdir -p "$etc/ssh" "$etc/pam.d"

cat >"$etc/ssh/sshd_config" <<'EOF'
HostKey /etc/ssh/ssh_host_ed25519_key
PidFile /run/sshd.pid
LogLevel VERBOSE
UsePAM yes
PasswordAuthentication yes
KbdInteractiveAuthentication yes
PermitRootLogin no
PrintMotd no
Subsystem sftp /usr/lib/openssh/sftp-server
EOF
for kind in auth account session; do
    echo "$kind required pam_unix.so"
done >"$etc/pam.d/sshd"
echo 'hosts: files' >"$etc/nsswitch.conf"
cat >"$etc/passwd" <<'EOF'
root:x:0:0:root:/root:/bin/bash
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
sshd:x:100:65534::/run/sshd:/usr/sbin/nologin
EOF
printf '%s:*:19000:0:99999:7:::\n' root nobody sshd >"$etc/shadow"
printf '%s\n' root:x:0: tty:x:5: shadow:x:42: users:x:100: nogroup:x:65534: >"$etc/group"

# noise HOME: start-up files that print, and that do what only a terminal can.
noise() {
    local text='echo "*** Welcome. Maintenance on Sunday. ***"
echo "quota: 93 % of 10 GiB used" 1>&2'
    mkdir -p "$1/.config/fish"
    for file in .bashrc .bash_profile .profile .zshenv .zshrc; do
        printf '%s\nstty -ixon\n' "$text" >"$1/$file"
    done
    # csh has no redirection of the error output alone.
    for file in .cshrc .tcshrc; do
        printf 'echo "*** Welcome. Maintenance on Sunday. ***"\n' >"$1/$file"
    done
    printf '%s\nset -g fish_greeting hello\n' "$text" >"$1/.config/fish/config.fish"
}

uid=2001
for shell in bash dash zsh fish tcsh rbash false; do
    program="/bin/$shell"
    [ -e "$source$program" ] || program="/usr/bin/$shell"
    if [ ! -e "$source$program" ]; then
        echo "no account $shell with the root ${root:-of this machine}: $program is not there"
        continue
    fi
    echo "$program" >>"$etc/shells"
    echo "$shell:x:$uid:$uid::/home/$shell:$program" >>"$etc/passwd"
    echo "$shell:$LAB_PASSWORD_HASH:19000:0:99999:7:::" >>"$etc/shadow"
    echo "$shell:x:$uid:" >>"$etc/group"
    for kind in home noisy; do
        mkdir -p "$here/$kind/$shell/.ssh"
        cp "$lab/home/.ssh/id_ed25519.pub" "$here/$kind/$shell/.ssh/authorized_keys"
        [ $kind = home ] || noise "$here/$kind/$shell"
        chmod -R go= "$here/$kind/$shell"
        chown -R $uid:$uid "$here/$kind/$shell"
    done
    uid=$((uid + 1))
done
chmod 640 "$etc/shadow"
chown 0:42 "$etc/shadow"
