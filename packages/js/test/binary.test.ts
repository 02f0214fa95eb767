import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { findPrograms } from "../src/binary.js";

let folder: string;

/** Makes a folder with a program `basalt`. */
function makeFolder(name: string): string {
  const made = join(folder, name);
  mkdirSync(made, { recursive: true });
  writeFileSync(join(made, "basalt"), "#!/bin/sh\n");
  chmodSync(join(made, "basalt"), 0o755);
  return made;
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "basalt-path-"));
  vi.stubEnv("BASALT_BIN", undefined);
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

test("the command of this package is not taken for the binary", () => {
  const shim = makeFolder("project/node_modules/.bin");
  vi.stubEnv("PATH", shim);
  expect(() => findPrograms()).toThrow(/there is no basalt on the PATH.*BASALT_BIN/);
  const installed = makeFolder("usr/bin");
  vi.stubEnv("PATH", [shim, installed].join(delimiter));
  expect(findPrograms().basalt).toBe(join(installed, "basalt"));
});
