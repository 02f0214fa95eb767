// Starts the binary with an ephemeral database, for the browser tests and the tests under Node.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const BINARY = process.env.BASALT_BIN ?? `${ROOT}target/debug/basalt`;
const CONFIG = process.env.BASALT_CONFIG ?? `${ROOT}config.toml`;

/**
 * @typedef {object} Basalt
 * @property {string} url
 * @property {string} publishableKey
 * @property {string} secretKey
 * @property {string} inboxUrl
 * @property {string} deskSetupUrl The link that makes the first owner of the desk.
 * @property {(text: string, picture?: string) => Promise<void>} writeCatalogue Writes `catalogue.toml`, and a copy of a
 *   picture beside it as `picture`, and reloads them.
 * @property {(...parameters: string[]) => Promise<string>} run Runs a command of the binary with the configuration and the
 *   database of the server; returns what it prints.
 * @property {() => string} log What the server has logged until now.
 * @property {() => Promise<void>} stop
 */

/**
 * Starts the binary with the configuration of the repository, or with `BASALT_CONFIG`; resolves once it serves.
 *
 * @param {(config: string) => string} [change] changes config.toml
 * @param {Record<string, string>} [files] further files of the project, by path
 * @returns {Promise<Basalt>}
 */
export async function startBasalt(change = (config) => config, files = {}) {
  const folder = await mkdtemp(join(tmpdir(), "basalt-e2e-"));
  const config = join(folder, "config.toml");
  await writeFile(config, change(await readFile(CONFIG, "utf8")));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  const child = spawn(
    BINARY,
    ["serve", "--config", config, "--port", "0", "--ephemeral", "--json"],
    {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const ended = once(child, "exit");
  /** @type {string[]} */
  const log = [];
  child.stderr.setEncoding("utf8").on("data", (text) => log.push(text));
  const started = await Promise.race([
    firstLine(child.stdout),
    ended.then(([code]) => {
      throw new Error(`${BINARY} ended with ${code} before it served:\n${log.join("")}`);
    }),
  ]);
  const {
    url,
    publishable_key: publishableKey,
    secret_key: secretKey,
    inbox_url: inboxUrl,
    desk_setup_url: deskSetupUrl,
    database_url: databaseUrl,
  } = JSON.parse(started);
  /** @type {Basalt["run"]} */
  async function run(...parameters) {
    const [name = "", ...rest] = parameters;
    const given = [name, "--config", config, "--database-url", databaseUrl, ...rest];
    return (await promisify(execFile)(BINARY, given, { cwd: ROOT })).stdout;
  }
  async function stop() {
    child.kill("SIGTERM");
    await ended;
    await rm(folder, { recursive: true });
  }
  /** @type {Basalt["writeCatalogue"]} */
  async function writeCatalogue(text, picture) {
    if (picture) await copyFile(picture, join(folder, "picture"));
    await writeFile(join(folder, "catalogue.toml"), text);
    child.kill("SIGHUP");
  }
  return {
    url,
    publishableKey,
    secretKey,
    inboxUrl,
    deskSetupUrl,
    writeCatalogue,
    run,
    log: () => log.join(""),
    stop,
  };
}

/** @param {import("node:stream").Readable} stream */
async function firstLine(stream) {
  let text = "";
  for await (const part of stream.setEncoding("utf8").iterator({ destroyOnReturn: false })) {
    text += part;
    const end = text.indexOf("\n");
    if (end >= 0) {
      stream.resume();
      return text.slice(0, end);
    }
  }
  throw new Error("the binary ended without a line");
}

/**
 * Returns the mails to an address; waits up to thirty seconds for the first.
 *
 * @param {string} inboxUrl
 * @param {string} address
 * @returns {Promise<{ id: string, to: string, subject: string, kind: string, link: string, code: string, text: string, html: string }[]>}
 */
export async function mailsTo(inboxUrl, address) {
  const answer = await fetch(`${inboxUrl}.json?to=${encodeURIComponent(address)}&wait=30`);
  if (!answer.ok) throw new Error(`the inbox answered ${answer.status}: ${await answer.text()}`);
  return (await answer.json()).messages;
}
