#!/usr/bin/env bash
# ONEFOLD_BIN=program tests/demo.sh [options of `onefold dedupe`]
#
# What onefold does, on a throw-away btrfs: fills one with real duplicates, dedupes it, shows the
# filesystem's own account before and after, checks that no file changed, and removes it all. Needs
# root and a loop device. `sudo ./dev run` without a path calls this, and it is an e2e test.
#
# Exit code: that of onefold; 3 if a file changed, or if a run without options freed no space; 1 if
# the demonstration could not be set up.
set -euo pipefail
export LC_ALL=C.UTF-8
onefold=$(readlink -f "${ONEFOLD_BIN:?names the program to show}")

say() { printf '==> %s\n' "$*"; }
die() { printf 'demo: %s\n' "$*" >&2; exit 1; }

free_megabytes() { df --output=avail -B1M "$1" | tail -n1 | tr -d ' '; }

make_place() {
  local parent=${TMPDIR:-/var/tmp}
  [ "$(free_megabytes "$parent")" -ge 600 ] || die "needs 600 MB in $parent (set TMPDIR to another place)"
  place=$(mktemp -d -p "$parent" --suffix=.onefold-demo)
  loop=''
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
}

clean_up() {
  local tries
  cd /
  for tries in 1 2 3 4 5; do
    mountpoint -q "$place/mnt" || break
    umount "$place/mnt" 2>/dev/null || sleep "$tries"
  done
  [ -z "$loop" ] || losetup -d "$loop" || true
  if mountpoint -q "$place/mnt"; then
    echo "demo: $place/mnt is still in use; unmount it and remove $place" >&2
    return
  fi
  rm -rf --one-file-system "$place"
}

make_volume() {
  grep -qw btrfs /proc/filesystems || die "this kernel has no btrfs"
  truncate -s 2G "$place/disk.img"
  local said  # mkfs.btrfs is not as quiet as its option says
  said=$(mkfs.btrfs -q "$place/disk.img" 2>&1) || die "$said"
  mkdir "$place/mnt"
  loop=$(losetup --find --show "$place/disk.img") ||
    die "no loop device to be had here (in a container: --privileged); give a PATH on a btrfs instead"
  mount -t btrfs -o noatime "$loop" "$place/mnt"
}

# noise MEGABYTES: bytes that neither repeat nor compress.
noise() { head -c "$1M" /dev/urandom; }

# Copies that share nothing: by write(), where cp and even cat would make reflinks.
copy() { dd if="$1" of="$2" bs=1M status=none; }

fill() {
  btrfs -q subvolume create photos >/dev/null
  local i
  for i in $(seq 10 33); do noise 2 >"photos/IMG_00$i.raw"; done
  noise 40 >photos/film.mkv
  mkdir backup
  for i in photos/*; do copy "$i" "backup/${i#photos/}"; done
  # A log, and the older version of it that somebody kept.
  noise 20 >server.log
  head -c 12M server.log >server.log.old
  # A disk image of files that also lie beside it.
  mke2fs -q -t ext4 -d photos -b 4096 "$place/photos.img" 128M >/dev/null
  copy "$place/photos.img" photos.img
  rm "$place/photos.img"
  sync -f .
  # A snapshot holds on to everything, as on any real NAS.
  btrfs -q subvolume snapshot -r photos photos.before >/dev/null
}

# Everything about the files that somebody could notice.
manifest() {
  find . -type f -printf '%p %i %m %s %T@ ' -exec sha256sum {} \; | sort
}

used_bytes() {
  sync -f "$place/mnt"
  btrfs filesystem sync "$place/mnt" >/dev/null
  btrfs filesystem usage -b "$place/mnt" | sed -n 's/^Data,.*Used:\([0-9]*\).*/\1/p' | head -n1
}

# show USED_BYTES
show() {
  btrfs filesystem du -s --mbytes . | sed 's/^/    /'
  printf '    used by data: %d MB\n' $(($1 / 1000000))
}

main() {
  if [ "$EUID" != 0 ]; then
    echo "SKIP: demo: needs root"
    exit 77
  fi
  make_place
  say "a throw-away btrfs with real duplicates, in $place"
  make_volume
  cd "$place/mnt"
  fill
  manifest >"$place/before"
  local used_before used_after status=0 state=(--state "$place/state")
  case " $* " in *' --state'*) state=() ;; esac
  used_before=$(used_bytes)
  say "before: $(find . -type f | wc -l) files"
  show "$used_before"
  say "onefold dedupe ${*:+$* }$place/mnt"
  "$onefold" dedupe "${state[@]}" "$@" "$place/mnt" || status=$?
  used_after=$(used_bytes)
  manifest >"$place/after"
  say "after"
  show "$used_after"
  cd /
  if ! cmp -s "$place/before" "$place/after"; then
    diff "$place/before" "$place/after" || true
    echo "demo: the files above changed" >&2
    exit 3
  fi
  say "every file still has its content, inode, mode and time"
  printf '    the filesystem now uses %d MB less for data\n' $(((used_before - used_after) / 1000000))
  if [ $# = 0 ] && [ "$used_after" -ge "$used_before" ]; then
    echo "demo: no space was freed" >&2
    exit 3
  fi
  say "removing it all"
  exit "$status"
}

main "$@"
