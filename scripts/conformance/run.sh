#!/usr/bin/env bash
# Runs authlib, a client library of others, against the server as a provider, in a Python environment of its own.
#   scripts/conformance/run.sh BINARY                  fails where the library cannot be had
#   scripts/conformance/run.sh BINARY --if-reachable   says so and leaves it at that, after half a minute at most
set -euo pipefail
binary=$(realpath "$1")
cd "$(dirname "$0")/../.."
venv=target/conformance
patience=600
[ "${2:-}" = --if-reachable ] && patience=30

installed() { [ -x "$venv/bin/python" ] && cmp -s scripts/conformance/requirements.txt "$venv/requirements.txt"; }

install() {
    rm -rf "$venv"
    python3 -m venv "$venv" &&
        timeout "$patience" "$venv/bin/pip" install --quiet --disable-pip-version-check --retries 1 \
            --requirement scripts/conformance/requirements.txt &&
        cp scripts/conformance/requirements.txt "$venv/requirements.txt"
}

if ! installed && ! install; then
    echo "authlib could not be installed: Python 3.10 or later with venv is needed, and PyPI within reach." >&2
    [ "$patience" = 30 ] && exit 0
    exit 1
fi
exec "$venv/bin/python" scripts/conformance/authlib_client.py "$binary"
