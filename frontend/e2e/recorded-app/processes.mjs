// Processes of the binary.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const BINARY =
  process.env.BASALT_BIN ?? fileURLToPath(new URL("../../../target/debug/basalt", import.meta.url));

/** @type {Set<import("node:child_process").ChildProcess>} */
const running = new Set();

/** Ends what a failed test has left. */
export function endAll() {
  for (const child of running) child.kill("SIGTERM");
}

/**
 * Starts a command that prints one line of JSON when it is ready.
 *
 * @param {string[]} args
 * @returns {Promise<{ ready: any, stop: () => Promise<void> }>}
 */
export async function startJson(args) {
  const child = spawn(BINARY, args, {
    cwd: tmpdir(),
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, LOG_LEVEL: "error" },
  });
  const ended = once(child, "exit");
  running.add(child);
  child.once("exit", () => running.delete(child));
  const line = await Promise.race([
    new Promise((resolve) => createInterface(child.stdout).once("line", resolve)),
    ended.then(([code]) => {
      throw new Error(`basalt ${args[0]} ended with ${code}`);
    }),
  ]);
  async function stop() {
    child.kill("SIGTERM");
    await ended;
  }
  return { ready: JSON.parse(line), stop };
}

/**
 * Runs a command to its end.
 *
 * @param {string[]} args
 * @returns {Promise<{ status: number, text: string }>}
 */
export function run(args) {
  return new Promise((resolve) => {
    execFile(BINARY, args, { cwd: tmpdir() }, (error, out, err) => {
      resolve({ status: error ? Number(error.code) : 0, text: `${out}${err}` });
    });
  });
}

/** Returns a free port. */
export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  server.close();
  await once(server, "close");
  return port;
}
