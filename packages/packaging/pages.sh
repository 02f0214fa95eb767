#!/usr/bin/env bash
# Writes manual pages and shell completions into the folders man1 and completions: packages/packaging/pages.sh FOLDER BINARY…
# The first binary that runs on this machine writes them: they are the same for each platform. Exit status 1 if none runs.
set -euo pipefail
folder=$1
shift
rm -rf "$folder"
for binary in "$@"; do
    if ! { [ -x "$binary" ] && "$binary" --version >/dev/null 2>&1; }; then continue; fi
    mkdir -p "$folder/man1" "$folder/completions"
    "$binary" manual "$folder/man1"
    "$binary" completions bash >"$folder/completions/basalt.bash"
    "$binary" completions zsh >"$folder/completions/_basalt"
    "$binary" completions fish >"$folder/completions/basalt.fish"
    exit 0
done
echo "Manual pages and completions are not written: no binary of basalt runs on this machine." >&2
exit 1
