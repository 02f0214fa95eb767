#!/usr/bin/env node
import { spawnSync } from "node:child_process";

import { findPrograms } from "./binary.js";

// `npx basalt …` runs the binary of the platform package.
function run(): number {
  const { basalt, postgres } = findPrograms();
  const env = { ...process.env, ...(postgres ? { PG_BIN_DIR: postgres } : {}) };
  const { status, error } = spawnSync(basalt, process.argv.slice(2), { stdio: "inherit", env });
  if (error) console.error(`${basalt} cannot be run: ${error.message}`);
  return status ?? 1;
}

try {
  process.exitCode = run();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
