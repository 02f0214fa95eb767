#!/usr/bin/env bash
# Tests the Python package and its example with supabase-py, in a separate environment. BASALT_BIN is the binary.
#   packages/python/test.sh [--if-reachable]      with the option, one line instead of a failure without PyPI
set -euo pipefail
cd "$(dirname "$0")/../.."
requirements=docs/testing/pytest/requirements.txt
venv=target/python-client
patience=600
[ "${1:-}" = --if-reachable ] && patience=60

installed() { [ -x "$venv/bin/python" ] && cmp -s "$requirements" "$venv/requirements.txt"; }

install() {
    rm -rf "$venv"
    python3 -m venv "$venv" &&
        timeout "$patience" "$venv/bin/pip" install --quiet --disable-pip-version-check --retries 1 \
            --requirement "$requirements" &&
        cp "$requirements" "$venv/requirements.txt"
}

if ! installed && ! install; then
    echo "The Python client is not tested: pytest and supabase-py could not be installed from PyPI (Python 3.10 or later)." >&2
    [ "$patience" = 60 ] && exit 0
    exit 1
fi
# As an installed package: without the network, so that the build needs no packages.
PYTHONPATH="$PWD/packages/python" exec "$venv/bin/python" -m pytest --quiet -p basalt_test.pytest_plugin \
    -p no:cacheprovider packages/python/tests docs/testing/pytest
