import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";

import { findPrograms, remedy } from "./binary.js";
import { BasaltError } from "./error.js";

/** The largest part of the log that an error shows. */
const LOG_LENGTH = 8000;
/** The longest wait for a server, in milliseconds. */
const START_TIMEOUT = 60_000;
/** The longest wait for its end. */
const STOP_TIMEOUT = 10_000;

/** How a server is started. */
export interface ServeOptions {
  /** The binary; without it `BASALT_BIN`, the installed platform package, or `basalt` on the `PATH`. */
  binary?: string | undefined;
  /** The path of `config.toml`; without it the one that the binary finds in the folder. */
  config?: string | undefined;
  /** The folder that it runs in; without it that of this process. */
  cwd?: string | undefined;
  /** Use the keys that the Supabase CLI publishes. */
  demoKeys?: boolean | undefined;
  /** Further arguments of `basalt serve`. */
  args?: string[] | undefined;
  /** Further variables of the environment. */
  env?: Record<string, string> | undefined;
  /** Where the log goes: nowhere but to errors without it, or to standard error. */
  log?: "inherit" | undefined;
}

/** A running server, which ends with this process. */
export interface ServerProcess {
  /** What it printed when it was ready. */
  announcement: Record<string, string>;
  /** The id of the process. */
  pid: number;
  /** Ends it. */
  stop(): Promise<void>;
}

/** Starts `basalt serve --test` and returns once it serves. */
export async function spawnServer(options: ServeOptions): Promise<ServerProcess> {
  const { basalt, postgres } = findPrograms(options.binary);
  const args = ["serve", "--test", "--json", "--port", "0"];
  if (options.config) args.push("--config", options.config);
  if (options.demoKeys) args.push("--demo-keys");
  args.push(...(options.args ?? []));
  const env = { ...process.env, ...(postgres ? { PG_BIN_DIR: postgres } : {}), ...options.env };
  const child = spawn(basalt, args, {
    env,
    stdio: ["ignore", "pipe", "pipe"],
    ...(options.cwd ? { cwd: options.cwd } : {}),
  });
  const log = collectLog(child, options.log === "inherit");
  const line = await firstLine(child, basalt, log);
  release(child);
  return {
    announcement: JSON.parse(line) as Record<string, string>,
    pid: child.pid ?? 0,
    stop: () => stop(child),
  };
}

/** Keeps the end of the log, and reads all of it so that the server never waits for a reader. */
function collectLog(child: ChildProcess, isShown: boolean): () => string {
  let log = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    if (isShown) process.stderr.write(text);
    log = (log + text).slice(-LOG_LENGTH);
  });
  return () => log;
}

async function firstLine(child: ChildProcess, binary: string, log: () => string): Promise<string> {
  return await new Promise((resolve, reject) => {
    let text = "";
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      reject(startError(`${binary} did not serve within ${START_TIMEOUT / 1000} seconds`, log()));
    }, START_TIMEOUT);
    const refuse = (error: BasaltError) => {
      clearTimeout(timer);
      reject(error);
    };
    child.once("error", (cause) => refuse(missingBinary(binary, cause)));
    child.once("close", (code) =>
      refuse(startError(`${binary} ended with ${code} before it served`, log())),
    );
    child.stdout?.setEncoding("utf8").on("data", (part: string) => {
      text += part;
      const end = text.indexOf("\n");
      if (end < 0) return;
      clearTimeout(timer);
      resolve(text.slice(0, end));
    });
  });
}

function startError(message: string, log: string): BasaltError {
  return new BasaltError("start_failed", message, log === "" ? "it printed nothing" : log);
}

function missingBinary(binary: string, cause: Error): BasaltError {
  return new BasaltError(
    "binary_missing",
    `${binary} cannot be run: ${cause.message}`,
    remedy(),
    undefined,
    { cause },
  );
}

/** Lets this process end while the server runs; the server notices that and ends, too. */
function release(child: ChildProcess): void {
  child.unref();
  for (const stream of [child.stdout, child.stderr]) {
    (stream as (Readable & { unref?: () => void }) | null)?.unref?.();
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.ref();
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT);
  await ended;
  clearTimeout(timer);
}
