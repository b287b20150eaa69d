#!/bin/bash
# What a container engine does of compose.yaml, without one: a root of its own over this machine's, read-only, with the
# mounts of the service, its user and no privileges. In a mount, process and network namespace of its own; as root.
#   container.sh SCRATCH USER GROUP WORKDIR READ_ONLY <MOUNTS -- COMMAND...
# MOUNTS: lines of `bind FROM TO`, `tmpfs OPTIONS TO` and `link TARGET AT`.
set -euo pipefail
scratch=$1 user=$2 group=$3 workdir=$4 read_only=$5
shift 6
mount --make-rprivate /
mount -t tmpfs tmpfs "$scratch"
root=$scratch/root
mkdir "$scratch/upper" "$scratch/work" "$root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$scratch/upper,workdir=$scratch/work" "$root"
# The interpreter may lie in a folder of the one who runs the tests.
chmod o+x "$root/root"
for each in dev sys; do mount --rbind "/$each" "$root/$each"; done
mount -t proc -o hidepid=invisible proc "$root/proc"
while read -r kind from to; do
  # Links such as /var/run lead to places of this root.
  at=$root$(chroot "$root" realpath -m "$to")
  if [ "$kind" = tmpfs ]; then
    mkdir -p "$at"
    mount -t tmpfs -o "$from" tmpfs "$at"
    continue
  fi
  mkdir -p "$(dirname "$at")"
  if [ "$kind" = link ]; then
    ln -sf "$from" "$root$to"
    continue
  fi
  if [ -d "$from" ]; then mkdir -p "$at"; else : >>"$at"; fi
  mount --bind "$from" "$at"
done
[ "$read_only" = no ] || mount -o remount,ro "$root"
exec chroot "$root" /usr/bin/setpriv --reuid "$user" --regid "$group" --clear-groups --no-new-privs \
  --bounding-set=-all --inh-caps=-all -- /bin/bash -c 'cd "$0"; exec "$@"' "$workdir" "$@" </dev/null
