import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { median } from "./statistics.mjs";

const run = promisify(execFile);

/** Runs statements with psql; returns its output. */
export async function query(url, ...statements) {
  const commands = statements.flatMap((statement) => ["--command", statement]);
  const { stdout } = await run("psql", [
    "--no-psqlrc",
    "--tuples-only",
    "--no-align",
    url,
    ...commands,
  ]);
  return stdout.trim();
}

/** Returns how many milliseconds CREATE DATABASE takes for an empty database: what any isolation costs here at least. */
export async function emptyCreateDatabase(url, count) {
  const names = Array.from({ length: count }, (_, number) => `bench_empty_${number}`);
  const output = await query(
    url,
    "\\timing on",
    ...names.map((name) => `CREATE DATABASE ${name} TEMPLATE template0`),
  );
  await query(url, ...names.map((name) => `DROP DATABASE ${name}`));
  const times = [...output.matchAll(/^Time: ([\d.]+) ms/gm)].map(([, time]) => Number(time));
  return median(times);
}

/** Returns the numbers of databases and connections of worlds. */
export async function countLeftovers(url) {
  const numbers = await query(
    url,
    "SELECT count(*) FROM pg_database WHERE datname LIKE 'world\\__%'",
    "SELECT count(*) FROM pg_stat_activity WHERE datname LIKE 'world\\__%'",
  );
  const [databases, connections] = numbers.split("\n").map(Number);
  return { databases, connections };
}
