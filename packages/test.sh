#!/usr/bin/env bash
# Tests the packages for test suites and the examples of docs/testing. BASALT_BIN is the binary, CHROMIUM_BIN the browser.
#   packages/test.sh [--if-reachable]      with the option, what needs PyPI is left out where it is unreachable
set -euo pipefail
cd "$(dirname "$0")/.."
BASALT_BIN=$(realpath "$BASALT_BIN")
export BASALT_BIN NODE_NO_WARNINGS=1

npm --prefix packages run --silent build
# Compressing the binary takes one processor for a while.
rm -rf target/packages
platform=$(node -p 'process.platform + "-" + process.arch')
node packages/packaging/package.mjs target/packages library "$platform=$BASALT_BIN" &
packing=$!
node --test packages/packaging/
(cd packages/js && npx vitest run)

# One server for all examples, as an application's suite is run: basalt exec -- npm test
"$BASALT_BIN" exec -- bash -euo pipefail -c '
    (cd docs/testing/vitest && npx vitest run)
    (cd docs/testing/jest && NODE_OPTIONS=--experimental-vm-modules npx jest)
    (cd docs/testing/ssr && node --test)
    (cd docs/testing/playwright-react && npx playwright test)
    packages/python/test.sh "$@"
' test "$@"

wait "$packing"
packages/packaging/test.sh target/packages
