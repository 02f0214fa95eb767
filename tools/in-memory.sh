#!/usr/bin/env bash
# Runs a command with its temporary files in memory, where there is room: tests create and remove some hundred databases.
#   tools/in-memory.sh cargo test
set -euo pipefail
memory=/dev/shm
# What the tests of all crates were seen to keep at once is 10 GiB.
readonly memory NEEDED_KIB=$((12 * 1024 * 1024))

# Whether files of that size fit, also beside the processes, and programs run from there.
has_room() {
    [ -w "$memory" ] && [ -r /proc/meminfo ] || return 1
    [ "$(df --output=avail "$memory" | tail -1)" -ge "$NEEDED_KIB" ] || return 1
    [ "$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)" -ge $((NEEDED_KIB + NEEDED_KIB / 2)) ] || return 1
    ! findmnt --noheadings --output OPTIONS "$memory" | grep -qw noexec
}

has_room || exec "$@"
folder=$(mktemp --directory "$memory/basalt-tests.XXXXXX")
trap 'rm -rf "$folder"' EXIT
# The account of PostgreSQL reaches its files below.
chmod 1777 "$folder"
TMPDIR=$folder "$@"
