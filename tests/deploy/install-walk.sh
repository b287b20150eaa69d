#!/bin/bash
# Follow steps of docs/install.md as root on a copy-on-write root over this machine's, so that nothing of it stays.
#   install-walk.sh SCRATCH TREE WITH_NETWORK WITHOUT_NETWORK: two scripts, the second one on a loopback of its own
set -euo pipefail
scratch=$1 tree=$2 with_network=$3 without_network=$4
mount --make-rprivate /
mount -t tmpfs tmpfs "$scratch"
root=$scratch/root
mkdir "$scratch/upper" "$scratch/work" "$root" "$scratch/etc"
cp "$with_network" "$without_network" "$scratch/etc"
mount -t overlay overlay -o "lowerdir=/,upperdir=$scratch/upper,workdir=$scratch/work" "$root"
# A host without Kaiku, without a database, whose interpreter anybody may run.
chmod o+x "$root/root"
rm -rf "$root/opt/kaiku" "$root/etc/kaiku" "$root/var/lib/kaiku-portal" "$root/var/backups/kaiku"
for each in etc/postgresql var/lib/postgresql; do
  mkdir -p "$root/$each"
  mount -t tmpfs -o mode=755 tmpfs "$root/$each"
  chroot "$root" chown postgres:postgres "/$each"
done
mkdir "$root/opt/kaiku" "$root/walk"
cp "$scratch"/etc/* "$root/walk"
tar -C "$tree" --exclude=./.venv --exclude=./.git --exclude=./var --exclude='*_cache' --exclude=__pycache__ -cf - . |
  tar -C "$root/opt/kaiku" --no-same-owner -xf -
chmod -R go+rX "$root/opt/kaiku"
for each in dev sys; do mount --rbind "/$each" "$root/$each"; done
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
cp -L /etc/resolv.conf "$scratch/resolv.conf" 2>/dev/null && cp "$scratch/resolv.conf" "$root/etc/resolv.conf" || true
install -m 0755 "$tree/tests/deploy/systemctl" "$root/usr/local/sbin/systemctl"
chroot "$root" userdel kaiku 2>/dev/null || true
chroot "$root" bash -euo pipefail "/walk/$(basename "$with_network")"
echo '127.0.0.1 localhost kaiku.example' >"$root/etc/hosts"
# What Debian's packages do when they are installed on an empty host.
unshare --net bash -euo pipefail -c '
  ip link set lo up
  chroot "$0" bash -ec "install -d -o postgres -g postgres -m 2775 /run/postgresql
    version=\$(ls /usr/lib/postgresql | sort -V | tail -n 1)
    pg_createcluster \$version main >/dev/null"
  chroot "$0" bash -euo pipefail "$1"' "$root" "/walk/$(basename "$without_network")"
