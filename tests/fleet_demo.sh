#!/usr/bin/env bash
# A fleet on one machine, as README's "A fleet in five minutes" has it: a coordinator and two workers,
# each with a throw-away btrfs that holds real duplicates; then everything is taken away again. The
# workers play two hosts: each has a mount namespace, in which only its own volume is mounted.
#
#   ONEFOLD_BIN=build/release/bin/onefold tests/fleet_demo.sh
#
# Needs root and two loop devices. Uses neither /etc/onefold nor the default port or socket.
set -euo pipefail
export LC_ALL=C.UTF-8 PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"

onefold=${ONEFOLD_BIN:?names the program}
pids=() loops=() mounts=()
place=

say() { printf '\n==> %s\n' "$*"; }
die() { printf 'fleet demo: %s\n' "$*" >&2; exit 1; }

# ask COMMAND…: a person's command, on the coordinator's machine.
ask() { "$onefold" "$@" --coordinator "unix:$place/coordinator.sock"; }

# show COMMAND…: what that person would type, and what it says.
show() {
  printf '$ onefold %s\n' "$*"
  ask "$@"
}

clean_up() {
  local status=$? pid
  cd /
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  if [ $status != 0 ] && [ -n "$place" ]; then
    tail -n 20 "$place"/*.log >&2 || true
  fi
  local mount loop
  for mount in "${mounts[@]}"; do umount "$mount" 2>/dev/null || umount -l "$mount" || true; done
  for loop in "${loops[@]}"; do losetup -d "$loop" || true; done
  if [ -n "$place" ]; then rm -rf --one-file-system "$place"; fi
}

free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# noise MEGABYTES: bytes that neither repeat nor compress.
noise() { head -c "$1M" /dev/urandom; }

# make_volume NAME: a btrfs with a film, a copy of it, and photos that somebody backed up.
make_volume() {
  local name=$1 loop i
  truncate -s 1G "$place/$name.img"
  mkfs.btrfs -q -L "demo-$name" "$place/$name.img" >/dev/null
  mkdir -p "$place/$name"
  loop=$(losetup --find --show "$place/$name.img") ||
    die "no loop device to be had here (in a container: --privileged)"
  loops+=("$loop")
  mount -t btrfs -o noatime "$loop" "$place/$name"
  mounts+=("$place/$name")
  mkdir "$place/$name/photos" "$place/$name/backup"
  for i in $(seq 10 19); do noise 2 >"$place/$name/photos/IMG_00$i.raw"; done
  noise 30 >"$place/$name/photos/film.mkv"
  # By write(), where cp would make reflinks.
  for i in "$place/$name"/photos/*; do dd if="$i" of="$place/$name/backup/${i##*/}" bs=1M status=none; done
  sync -f "$place/$name"
}

used_bytes() {
  btrfs filesystem sync "$place/$1" >/dev/null
  btrfs filesystem usage -b "$place/$1" | sed -n 's/^Data,.*Used:\([0-9]*\).*/\1/p' | head -n1
}

# start NAME COMMAND…: a service in the background, its log beside the rest.
start() {
  local name=$1
  shift
  printf '$ onefold %s &\n' "$*"
  if [ "$1" = worker ]; then
    # Its own machine: other filesystems of the demonstration are not mounted there.
    # shellcheck disable=SC2016
    unshare --mount --propagation private sh -c '
      keep=$1; shift
      for mount in films archive; do [ "$mount" = "$keep" ] || umount "$place/$mount"; done
      exec "$@"' sh "${name#worker-}" "$onefold" "$@" >"$place/$name.log" 2>&1 &
  else
    "$onefold" "$@" >"$place/$name.log" 2>&1 &
  fi
  pids+=($!)
}

# wait_for SECONDS WHAT COMMAND…
wait_for() {
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || die "not within the time it should take: $what"
    sleep 0.2
  done
}

connected_count() {
  ask fleet list --json | python3 -c 'import json, sys
hosts = json.load(sys.stdin)["hosts"]
print(sum(host["state"] == "connected" and bool(host["volumes"]) for host in hosts))'
}
both_connected() { [ "$(connected_count)" = 2 ]; }

make_coordinator() {
  mkdir -p "$place/etc"
  cat >"$place/etc/coordinator.yaml" <<YAML
listen: ["0.0.0.0:$port", "unix:$place/coordinator.sock"]
public_address: localhost:$port
state_directory: $place/coordinator
reflection: false
YAML
  sed 's/^/    /' "$place/etc/coordinator.yaml"
  start coordinator coordinator --config "$place/etc/coordinator.yaml"
  wait_for 30 "the coordinator serves" ask fleet list
}

# add_worker NAME: joins with a token of its own, and works on one volume only.
add_worker() {
  local name=$1 join
  printf '$ onefold fleet token create --ttl 10m\n'
  join=$(ask fleet token create --ttl 10m 2>/dev/null)
  printf '%s\n' "$join" | sed 's/of1-[^@]*/of1-…/'
  printf '$ onefold fleet join of1-…@localhost:%s --allow %s …\n' "$port" "$place/$name"
  "$onefold" fleet join "${join##* }" --allow "$place/$name" \
    --config "$place/etc/worker-$name.yaml" --state-directory "$place/worker-$name" --name "$name"
  start "worker-$name" worker --config "$place/etc/worker-$name.yaml"
}

main() {
  if [ "$EUID" != 0 ]; then
    echo "SKIP: fleet_demo: needs root"
    exit 77
  fi
  local tool
  for tool in mkfs.btrfs btrfs losetup unshare python3; do
    command -v "$tool" >/dev/null || { echo "SKIP: fleet_demo: needs $tool"; exit 77; }
  done
  if ! grep -qw btrfs /proc/filesystems; then
    echo "SKIP: fleet_demo: needs btrfs in the kernel"
    exit 77
  fi
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  place=$(mktemp -d "${TMPDIR:-/var/tmp}/onefold-fleet-demo.XXXXXX")
  chmod 700 "$place"
  export place
  unset ONEFOLD_COORDINATOR ONEFOLD_IDENTITY
  export HOME=$place/home XDG_CONFIG_HOME=$place/home/.config
  port=$(free_port)

  say "two volumes with real duplicates, in $place"
  make_volume films
  make_volume archive
  local before_films before_archive
  before_films=$(used_bytes films) before_archive=$(used_bytes archive)

  say "a coordinator"
  make_coordinator

  say "two workers join, each with its own certificate"
  add_worker films
  add_worker archive
  wait_for 60 "both workers are connected" both_connected
  show fleet list

  say "a policy: what changes is shown first"
  cat >"$place/nightly.yaml" <<'YAML'
name: nightly
select: label=demo-*
schedule: "0 2 * * *"
window: "22:00-06:00"
throttle: {threads: 2}
YAML
  show policy apply "$place/nightly.yaml" --dry-run
  show policy apply "$place/nightly.yaml" --yes
  show policy list

  say "not waiting for the night"
  show run now --selector 'label=demo-*' --watch
  show run list

  say "what the filesystems say"
  local name before after freed=0
  for name in films archive; do
    before=before_$name
    after=$(used_bytes $name)
    printf '    %s: %d MB of data before, %d MB now\n' $name $((${!before} / 1000000)) $((after / 1000000))
    freed=$((freed + ${!before} - after))
  done
  [ $freed -ge 100000000 ] || die "only $freed bytes were freed"

  say "removing it all"
}

main "$@"
