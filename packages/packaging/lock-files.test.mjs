// The lock files of npm: `npm ci` works on every platform.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

for (const folder of ["frontend", "packages"]) {
  test(`the lock file of ${folder}/ names the packages of all platforms`, () => {
    const lock = new URL(`../../${folder}/package-lock.json`, import.meta.url);
    const { packages } = JSON.parse(readFileSync(lock, "utf8"));
    const wanted = Object.values(packages).flatMap((entry) =>
      Object.keys(entry.optionalDependencies ?? {}),
    );
    assert.ok(wanted.length > 0, "some package has packages for platforms");
    const names = new Set(
      Object.keys(packages).map((path) => path.slice(path.lastIndexOf("node_modules/") + 13)),
    );
    const missing = wanted.filter((name) => !names.has(name));
    assert.deepEqual(missing, [], "npm install --package-lock-only adds them");
  });
}
