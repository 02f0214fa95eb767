#!/usr/bin/env bash
# Builds the wheel of the Python package: packages/python/package.sh FOLDER
set -euo pipefail
folder=$(realpath "$1")
cd "$(dirname "$0")"
staging=$(mktemp -d)
trap 'rm -rf "$staging"' EXIT
# setuptools writes beside the sources.
cp -r README.md pyproject.toml basalt_test "$staging"
if python3 -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$folder" "$staging"; then
    ls "$folder"/basalt_test-*.whl
else
    echo "The wheel of the Python package is not built: Python 3.10 or later with pip is needed, and setuptools from PyPI." >&2
fi
