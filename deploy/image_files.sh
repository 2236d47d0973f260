#!/bin/sh
# deploy/image_files.sh PROGRAM FOLDER: fills the new FOLDER with what an image of PROGRAM holds.
set -eu

program=$1 root=$2
readonly USER_ID=7171

mkdir -p "$root/usr/bin" "$root/etc/onefold" "$root/run/onefold" "$root/usr/share" "$root/tmp"
cp "$program" "$root/usr/bin/onefold"

# Lines of ldd: "NAME => PATH (address)", and "PATH (address)" for the loader.
ldd "$program" | sed -n 's/^.*=> \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) .*/\1/p' | sort -u |
  while read -r library; do
    mkdir -p "$root${library%/*}"
    cp -L "$library" "$root$library"
  done

cp -a /usr/share/zoneinfo "$root/usr/share/zoneinfo"
printf 'root:x:0:0:root:/:/sbin/nologin\nonefold:x:%s:%s:onefold:/:/sbin/nologin\n' $USER_ID $USER_ID >"$root/etc/passwd"
printf 'root:x:0:\nonefold:x:%s:\n' $USER_ID >"$root/etc/group"
printf 'hosts: files dns\n' >"$root/etc/nsswitch.conf"

# Volumes that are made for these folders get their owners and modes.
mkdir -m 0700 "$root/var" "$root/var/lib" && chmod 0755 "$root/var" "$root/var/lib"
mkdir -m 0700 "$root/var/lib/onefold" "$root/var/lib/onefold-coordinator" \
  "$root/var/lib/onefold-worker" "$root/var/lib/onefold-standalone"
chmod 1777 "$root/tmp"
chmod 0700 "$root/run/onefold"
chown "$USER_ID:$USER_ID" "$root/var/lib/onefold-coordinator" "$root/run/onefold"
# Where `onefold fleet` looks for the coordinator of its own machine. A link, so that nothing needs to
# be written in /run.
ln -s /var/lib/onefold-coordinator/control.sock "$root/run/onefold/coordinator.sock"

# The same files, whenever they were made.
find "$root" -exec touch -h -d @0 {} +
