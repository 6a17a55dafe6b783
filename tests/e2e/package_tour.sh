#!/bin/bash
# SPDX-License-Identifier: MIT
#
# package_tour.sh - what an operator does with the packages, on a machine that systemd has just booted.
#
# Runs there as root (test_package.py) and prints "NAME: WHAT HAPPENED" for each step. The machine
# has no network, and one slow CPU. It ends with this script.
trap 'systemctl poweroff -ff' EXIT
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
cd /root || exit
problem=/usr/share/tribunal/examples/a-plus-b
unit=/sys/fs/cgroup/system.slice/tribunal-worker.service

say() { local name=$1; shift; printf '%s: %s\n' "$name" "$("$@" 2>&1 | tr -s '[:space:]' ' ' | sed 's/ $//')"; }
state() { systemctl is-active "$1"; systemctl show -P NRestarts "$1"; }
new_key() { runuser -u tribunal -- tribunal keys new --role "$1" --db sqlite:/var/lib/tribunal/tribunal.db 2>/dev/null; }
submit() { timeout 120 tribunal submit "$problem/submissions/accepted/$1" -p a-plus-b --key-file admin.key; }
# until_restarted UNIT N: it has come back N times and works.
until_restarted() {
    for _ in $(seq 240); do
        [ "$(state "$1" | xargs)" = "active $2" ] && break
        sleep 0.25
    done
    state "$1"
}

say users getent passwd tribunal tribunal-judge
say doctor sh -c 'tribunal doctor | grep "^a run"'
say not-started systemctl is-enabled tribunald tribunal-worker
say start systemctl start tribunald
new_key admin >admin.key
say no-root sh -c 'ps -o user= -C tribunald'
say import tribunal problem import $problem --id a-plus-b --key-file admin.key
say no-key systemctl start tribunal-worker
systemctl stop tribunal-worker
(umask 077 && new_key judge >/etc/tribunal/judge.key)
say join systemctl start tribunal-worker
say status systemctl show -P StatusText tribunal-worker
say judged submit sum.py
say compiled submit sum.c
say delegated sh -c "ls -d $unit/tribunal-[0-9]*-[0-9]*/init; find /sys/fs/cgroup/tribunal-box -mindepth 1 -type d"
kill -9 "$(systemctl show -P MainPID tribunald)" "$(systemctl show -P MainPID tribunal-worker)"
say killed-controller until_restarted tribunald 1
say killed-judge until_restarted tribunal-worker 1
say judged-again submit sum.py
kill -STOP "$(systemctl show -P MainPID tribunald)"
say hung-controller until_restarted tribunald 2
say reload systemctl reload tribunald
say manual sh -c 'zgrep -c . /usr/share/man/man1/judge-worker.1.gz /usr/share/man/man3/tribunal-queue.3.gz'
# shellcheck disable=SC2016 # the inner shell expands it
say program sh -c 'cc /mnt/crash.c $(pkg-config --cflags --libs tribunal-queue sqlite3) && ./a.out shop.db'

echo '# mine' >>/etc/tribunal/tribunald.yaml
before=$(systemctl show -P MainPID tribunald)
say upgrade sh -c 'dpkg -i /opt/deb/*.deb >/dev/null'
say kept tail -n 1 /etc/tribunal/tribunald.yaml
say runs-anew sh -c "systemctl is-active tribunald; [ $before != \$(systemctl show -P MainPID tribunald) ] && echo new"
say judged-after submit sum.py
say stop systemctl stop tribunal-worker
say remove sh -c 'dpkg -r tribunal tribunal-worker >/dev/null'
say stopped sh -c 'pgrep -c tribunal; ls /etc/tribunal'
say purge sh -c 'dpkg -P tribunal tribunal-worker >/dev/null'
say left sh -c 'rm /etc/tribunal/judge.key; ls -d /etc/tribunal/* /var/lib/tribunal* /var/cache/tribunal* /usr/bin/tribunal* 2>/dev/null'
