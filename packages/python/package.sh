#!/usr/bin/env bash
# Builds the wheel of the Python package: packages/python/package.sh FOLDER [PAGES]
# PAGES is the folder of packages/packaging/pages.sh: the wheel then has manual pages and completions below share/.
set -euo pipefail
folder=$(realpath "$1")
pages=${2:+$(realpath "$2")}
cd "$(dirname "$0")"
staging=$(mktemp -d)
trap 'rm -rf "$staging"' EXIT
# setuptools writes beside the sources.
cp -r README.md pyproject.toml basalt_test "$staging"
if [ -n "$pages" ]; then
    cp -r "$pages" "$staging/pages"
    cat >>"$staging/pyproject.toml" <<'FILES'

[tool.setuptools.data-files]
"share/man/man1" = ["pages/man1/*.1"]
"share/bash-completion/completions" = ["pages/completions/basalt"]
"share/zsh/site-functions" = ["pages/completions/_basalt"]
"share/fish/vendor_completions.d" = ["pages/completions/basalt.fish"]
FILES
    # The shell finds completions by the name of the command.
    mv "$staging/pages/completions/basalt.bash" "$staging/pages/completions/basalt"
fi
if python3 -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$folder" "$staging"; then
    ls "$folder"/basalt_test-*.whl
else
    echo "The wheel of the Python package is not built: Python 3.10 or later with pip is needed, and setuptools from PyPI." >&2
fi
