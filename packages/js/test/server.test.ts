import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

import { BasaltError, startBasalt } from "../src/index.js";

const run = promisify(execFile);

async function isRunning(pid: number): Promise<boolean> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    try {
      process.kill(pid, 0);
    } catch {
      return false;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return true;
}

test("server ends with its block", async () => {
  let pid: number | undefined;
  {
    await using basalt = await startBasalt({ separate: true });
    pid = basalt.pid;
    expect(await basalt.worlds()).toHaveLength(1);
  }
  expect(await isRunning(pid ?? 0)).toBe(false);
});

test("server ends with the process that started it", async () => {
  const program = `
    const { startBasalt } = await import(${JSON.stringify(new URL("../dist/index.js", import.meta.url).href)});
    const basalt = await startBasalt({ separate: true });
    console.info(basalt.pid);
    process.kill(process.pid, "SIGKILL");`;
  const ended = await run(process.execPath, ["--input-type=module", "--eval", program]).catch(
    (error: { stdout: string }) => error,
  );
  const pid = Number(ended.stdout);
  expect(pid).toBeGreaterThan(0);
  expect(await isRunning(pid)).toBe(false);
});

test("process that has no more work ends beside its server", async () => {
  const program = `
    const { startBasalt } = await import(${JSON.stringify(new URL("../dist/index.js", import.meta.url).href)});
    await startBasalt({ separate: true });
    console.info("done");`;
  const ended = await run(process.execPath, ["--input-type=module", "--eval", program], {
    timeout: 15_000,
  });
  expect(ended.stdout.trim()).toBe("done");
});

test("missing binary and invalid configuration say what to do", async () => {
  const missing = startBasalt({ separate: true, binary: "/nowhere/basalt" });
  await expect(missing).rejects.toMatchObject({
    code: "binary_missing",
    hint: expect.stringContaining("BASALT_BIN"),
  });
  const cwd = await mkdtemp(join(tmpdir(), "basalt-test-"));
  const refused = startBasalt({ separate: true, config: "none.toml", cwd });
  await expect(refused).rejects.toThrow(BasaltError);
  await expect(refused).rejects.toMatchObject({
    code: "start_failed",
    hint: expect.stringContaining("none.toml"),
  });
  await rm(cwd, { recursive: true });
});
