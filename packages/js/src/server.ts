import "./dispose.js";

import { TestApi } from "./api.js";
import { BasaltError } from "./error.js";
import { type ServeOptions, type ServerProcess, spawnServer } from "./process.js";
import { type NewWorld, World, type WorldDescription } from "./world.js";

/** The variables by which `basalt exec` and `@basalt/test` pass a running server on. */
export const TEST_URL = "BASALT_TEST_URL";
export const TEST_KEY = "BASALT_TEST_KEY";

/** How a server is found or started. */
export interface StartOptions extends ServeOptions {
  /** Start a server even if `basalt exec` or the setup of the test runner has started one. */
  separate?: boolean | undefined;
}

/** A test server. */
export class Basalt implements AsyncDisposable {
  private readonly api: TestApi;

  constructor(
    /** The address of the test API. */
    readonly testUrl: string,
    /** The key of the test API. */
    readonly testKey: string,
    private readonly server?: ServerProcess,
  ) {
    this.api = new TestApi({ url: testUrl, key: testKey });
  }

  /** The id of the server's process; undefined if another process started it. */
  get pid(): number | undefined {
    return this.server?.pid;
  }

  /** Creates an isolated world: `await using world = await basalt.world()`. */
  async world(options: NewWorld = {}): Promise<World> {
    return new World(this.api, await this.api.call("POST", "/worlds", { body: options }));
  }

  /** Returns a world by its id; `default` is the server itself. */
  async find(id: string): Promise<World> {
    const path = `/worlds/${encodeURIComponent(id)}`;
    return new World(this.api, await this.api.call("GET", path));
  }

  /** Returns all worlds. */
  async worlds(): Promise<World[]> {
    const answer = await this.api.call<{ worlds: WorldDescription[] }>("GET", "/worlds");
    return answer.worlds.map((description) => new World(this.api, description));
  }

  /** Ends the server if this object started it. */
  async close(): Promise<void> {
    await this.server?.stop();
  }

  /** Ends the server at the end of an `await using` block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/**
 * Returns the server of `basalt exec` or of the test runner's setup, or starts `basalt serve --test`.
 *
 * A started server ends with this process at the latest, and leaves nothing behind.
 */
export async function startBasalt(options: StartOptions = {}): Promise<Basalt> {
  const { [TEST_URL]: url, [TEST_KEY]: key } = process.env;
  if (!options.separate && url && key) return new Basalt(url, key);
  const server = await spawnServer(options);
  const { test_url: testUrl, test_key: testKey } = server.announcement;
  if (testUrl === undefined || testKey === undefined) {
    await server.stop();
    throw new BasaltError(
      "version_mismatch",
      "the server printed no address of a test API",
      "use a version of basalt with `serve --test`, the same as of @basalt/test",
    );
  }
  return new Basalt(testUrl, testKey, server);
}

/** Starts a server for the processes of a test runner, which find it in the environment; returns its end. */
export async function startForProcesses(options: StartOptions = {}): Promise<() => Promise<void>> {
  const basalt = await startBasalt(options);
  process.env[TEST_URL] = basalt.testUrl;
  process.env[TEST_KEY] = basalt.testKey;
  return async () => {
    if (basalt.pid === undefined) return;
    delete process.env[TEST_URL];
    delete process.env[TEST_KEY];
    await basalt.close();
  };
}

let shared: Promise<Basalt> | undefined;

/** Returns the server of this process, which the first call finds or starts. */
export async function sharedBasalt(): Promise<Basalt> {
  shared ??= startBasalt();
  return await shared;
}
