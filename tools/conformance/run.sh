#!/usr/bin/env bash
# Tests the OAuth server with the client library authlib, in a separate Python environment.
#   tools/conformance/run.sh BINARY                  fails if the library cannot be installed
#   tools/conformance/run.sh BINARY --if-reachable   skips the test in that case, after at most 30 seconds
set -euo pipefail
binary=$(realpath "$1")
cd "$(dirname "$0")/../.."
venv=target/conformance
patience=600
[ "${2:-}" = --if-reachable ] && patience=30

installed() { [ -x "$venv/bin/python" ] && cmp -s tools/conformance/requirements.txt "$venv/requirements.txt"; }

install() {
    rm -rf "$venv"
    python3 -m venv "$venv" &&
        timeout "$patience" "$venv/bin/pip" install --quiet --disable-pip-version-check --retries 1 \
            --requirement tools/conformance/requirements.txt &&
        cp tools/conformance/requirements.txt "$venv/requirements.txt"
}

if ! installed && ! install; then
    echo "authlib could not be installed: Python 3.10 or later with venv is needed, and access to PyPI." >&2
    [ "$patience" = 30 ] && exit 0
    exit 1
fi
exec "$venv/bin/python" tools/conformance/authlib_client.py "$binary"
