// Measures the targets of test servers; prints a table of medians and targets, and fails if one is missed.
//   node packages/bench/bench.mjs BINARY [--quick] [--only start,worlds,suite,memory,leaks]
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { startBasalt } from "@basalt/test";

import { countLeftovers, emptyCreateDatabase } from "./database.mjs";
import { processTree, proportionalMemory } from "./processes.mjs";
import { duration, median, quantile, sleep } from "./statistics.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean" }, only: { type: "string" } },
});
const binary = resolve(positionals[0] ?? "target/release/basalt");
const isQuick = values.quick ?? false;
const serve = { binary, separate: true };
let missed = 0;

/** Prints a measured value beside its target. */
function report(name, value, target, unit, more = "") {
  const isMet = value <= target;
  if (!isMet) missed += 1;
  const shown = `${value.toFixed(1)} ${unit}`.padStart(12);
  console.info(
    `${name.padEnd(44)}${shown}   target ${target} ${unit}  ${isMet ? "met" : "MISSED"}  ${more}`,
  );
}

/** Runs an action with a server of its own. */
async function withServer(action) {
  const basalt = await startBasalt(serve);
  try {
    return await action(basalt, (await basalt.find("default")).databaseUrlTcp);
  } finally {
    await basalt.close();
  }
}

/** The time from the start of the process to the first 200 of the auth API. */
async function startOnce(env) {
  let basalt;
  const time = await duration(async () => {
    basalt = await startBasalt({ ...serve, env });
    const world = await basalt.find("default");
    const health = await fetch(`${world.url}/auth/v1/health`, {
      headers: { apikey: world.publishableKey },
    });
    if (!health.ok) throw new Error(`/health was answered with ${health.status}`);
  });
  await basalt.close();
  return time;
}

async function measureStart() {
  // Only in the cache folder of a user who is not root is the prepared database missing for a moment.
  const isRoot = process.getuid?.() === 0;
  const [cold, warm] = [[], []];
  for (let round = 0; round < (isQuick ? 2 : 5); round += 1) {
    const cache = await mkdtemp(join(tmpdir(), "basalt-bench-"));
    const first = await startOnce({ XDG_CACHE_HOME: cache });
    if (!isRoot) cold.push(first);
    warm.push(await startOnce({ XDG_CACHE_HOME: cache }));
    await rm(cache, { recursive: true });
  }
  if (isRoot)
    console.info("start to first 200, cold: not measured, root shares one prepared database");
  else report("start to first 200, cold", median(cold), 2000, "ms");
  report("start to first 200, warm", median(warm), 300, "ms");
}

async function measureWorlds() {
  await withServer(async (basalt, url) => {
    const empty = await emptyCreateDatabase(url, isQuick ? 5 : 20);
    const ratio = (time) =>
      `${(time / empty).toFixed(2)} × an empty CREATE DATABASE (${empty.toFixed(1)} ms)`;
    const rounds = isQuick ? 5 : 30;
    const fromPool = [];
    for (let round = 0; round < rounds; round += 1) {
      await sleep(Math.max(100, 4 * empty));
      fromPool.push(await duration(async () => await basalt.world()));
    }
    const pooled = median(fromPool);
    report("create, from the pool, p50", pooled, 10, "ms", ratio(pooled));
    const burst = [];
    for (let round = 0; round < rounds + 16; round += 1) {
      burst.push(await duration(async () => await basalt.world()));
    }
    const otherwise = median(burst.slice(16));
    report("create, with an empty pool, p50", otherwise, 100, "ms", ratio(otherwise));

    const world = await basalt.world();
    const resets = [];
    for (let round = 0; round < rounds; round += 1) {
      await sleep(Math.max(100, 4 * empty));
      resets.push(await duration(async () => await world.reset()));
    }
    report("reset, p50", median(resets), 20, "ms", ratio(median(resets)));

    const users = Array.from({ length: 1000 }, (_, number) => ({
      email: `user${number}@example.com`,
      password: "correct horse battery",
    }));
    const bulk = await duration(async () => await world.users.create(users));
    report("creation of 1,000 users", bulk, 500, "ms");
    const forks = [];
    for (let round = 0; round < (isQuick ? 3 : 10); round += 1) {
      await sleep(100);
      forks.push(await duration(async () => await world.fork()));
    }
    report("fork of 1,000 users, p50", median(forks), 60, "ms", ratio(median(forks)));
  });
}

/** Runs vitest with two workers; returns its duration in milliseconds. */
async function runSuite(env) {
  const folder = new URL("suite/", import.meta.url);
  return await duration(async () => {
    const vitest = spawn("npx", ["vitest", "run"], {
      cwd: folder,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    vitest.stdout.on("data", (text) => {
      output += text;
    });
    const [status] = await once(vitest, "exit");
    if (status !== 0) throw new Error(`the suite failed:\n${output}`);
  });
}

async function measureSuite() {
  await withServer(async (basalt) => {
    const perFile = isQuick ? 8 : 75;
    const folder = await mkdtemp(join(tmpdir(), "basalt-bench-"));
    const env = {
      BASALT_TEST_URL: basalt.testUrl,
      BASALT_TEST_KEY: basalt.testKey,
      BENCH_TESTS: String(perFile),
      BENCH_TIMES: join(folder, "times"),
    };
    // Shorter once vitest has been started before: its first run is not counted.
    await runSuite({ ...env, BENCH_SHARED: "yes", BENCH_TESTS: "1" });
    const shared = await runSuite({ ...env, BENCH_SHARED: "yes" });
    const isolated = await runSuite(env);
    const lines = (await readFile(env.BENCH_TIMES, "utf8")).trim().split("\n");
    const times = lines.map((line) => line.split(" ").map(Number));
    await rm(folder, { recursive: true });
    const overhead = times.map(([created, , deleted]) => created + deleted);
    const more = `95 %: ${quantile(overhead, 0.95).toFixed(0)} ms; the test itself: ${median(times.map(([, tested]) => tested)).toFixed(0)} ms`;
    report(`${times.length} tests, create and delete, median`, median(overhead), 40, "ms", more);
    const perWorld = (isolated - shared) / times.length;
    const seconds = `${(isolated / 1000).toFixed(1)} s with, ${(shared / 1000).toFixed(1)} s without worlds of their own`;
    report(`${times.length} tests, wall time per world`, perWorld, 40, "ms", seconds);
  });
}

async function measureMemory() {
  await withServer(async (basalt) => {
    const worlds = [];
    for (let number = 0; number < (isQuick ? 40 : 200); number += 1)
      worlds.push(await basalt.world());
    let isBusy = true;
    const work = worlds.slice(-20).map(async (world) => {
      for (let number = 0; isBusy; number += 1) {
        await fetch(`${world.url}/auth/v1/signup`, {
          method: "POST",
          headers: { apikey: world.publishableKey, "content-type": "application/json" },
          body: JSON.stringify({ email: `user${number}@example.com`, password: "correct horse" }),
        });
      }
    });
    await sleep(isQuick ? 3000 : 10_000);
    const samples = [];
    for (let round = 0; round < 5; round += 1) {
      const tree = processTree(basalt.pid);
      samples.push({
        all: proportionalMemory(tree),
        own: proportionalMemory([basalt.pid]),
        count: tree.length,
      });
      await sleep(500);
    }
    isBusy = false;
    await Promise.all(work);
    const { all, own, count } = samples.sort((a, b) => a.all - b.all)[2];
    const more = `server ${own.toFixed(0)} MB, PostgreSQL ${(all - own).toFixed(0)} MB, ${count} processes`;
    report(`memory, ${worlds.length} worlds, 20 busy`, all, 300, "MB", more);
  });
}

async function measureLeaks() {
  await withServer(async (basalt, url) => {
    const count = isQuick ? 100 : 2000;
    const cycle = async (rounds) => {
      for (let round = 0; round < rounds; round += 1) {
        const world = await basalt.world();
        await fetch(`${world.url}/auth/v1/health`, { headers: { apikey: world.publishableKey } });
        await world.delete();
      }
    };
    // Databases are dropped in the background, and the pool is refilled: three equal counts are the end of that.
    const settle = async () => {
      const counts = [];
      for (let attempt = 0; attempt < 300; attempt += 1) {
        const { databases, connections } = await countLeftovers(url);
        counts.push(`${databases} ${connections}`);
        const memory = proportionalMemory(processTree(basalt.pid));
        const isStable = new Set(counts.slice(-3)).size === 1 && counts.length >= 3;
        if (isStable && connections === 0) return { databases, connections, memory };
        await sleep(1000);
      }
      throw new Error(`databases and connections do not settle: ${counts.slice(-10).join(", ")}`);
    };
    await cycle(count / 10);
    const before = await settle();
    await cycle(count);
    const after = await settle();
    const name = (what) => `${count} worlds created and deleted: ${what}`;
    report(name("databases"), after.databases - before.databases, 0, "");
    report(name("connections"), after.connections, 0, "");
    const more = `${before.memory.toFixed(0)} MB before, ${after.memory.toFixed(0)} MB after`;
    report(name("memory"), after.memory - before.memory, 20, "MB", more);
  });
}

const sections = {
  start: measureStart,
  worlds: measureWorlds,
  suite: measureSuite,
  memory: measureMemory,
  leaks: measureLeaks,
};
const wanted = values.only?.split(",") ?? Object.keys(sections);
for (const name of wanted) {
  if (!(name in sections)) throw new Error(`${name}: one of ${Object.keys(sections).join(", ")}`);
  await sections[name]();
}
process.exitCode = missed === 0 ? 0 : 1;
