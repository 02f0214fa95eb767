import { test as base, expect as baseExpect, type Page } from "@playwright/test";

import type { CreatedUser, Session, SessionOptions } from "./accounts.js";
import { matchers } from "./matchers.js";
import { reportWorld } from "./report.js";
import { type Basalt, startBasalt } from "./server.js";
import type { NewWorld, World } from "./world.js";

/** A page of a signed-in user. */
export interface SignedInPage {
  page: Page;
  user: CreatedUser;
  session: Session;
}

/** What a test gets. */
export interface TestFixtures {
  /** Settings and data of the world: `test.use({ worldOptions: { … } })`. */
  worldOptions: NewWorld;
  /** The URL that the application was built with as the project's URL; its requests reach the world of the test. */
  supabaseUrl: string | undefined;
  /** A world of this test alone, deleted afterwards. */
  world: World;
  /** Assurance and methods of the session of `signedInPage`. */
  sessionOptions: SessionOptions;
  /** A page whose local storage has a session of a new user. */
  signedInPage: SignedInPage;
}

/** What a worker has. */
export interface WorkerFixtures {
  /** The server. */
  basalt: Basalt;
}

/** The `test` of Playwright with a server, a world, and pages whose requests reach the world. */
export const test = base.extend<TestFixtures, WorkerFixtures>({
  basalt: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright wants the pattern
    async ({}, use) => {
      await using basalt = await startBasalt();
      await use(basalt);
    },
    { scope: "worker" },
  ],
  worldOptions: [{}, { option: true }],
  supabaseUrl: [undefined, { option: true }],
  sessionOptions: [{}, { option: true }],
  world: async ({ basalt, worldOptions }, use, testInfo) => {
    await using world = await basalt.world(worldOptions);
    await use(world);
    if (testInfo.status !== testInfo.expectedStatus) {
      const body = JSON.stringify(await reportWorld(world), undefined, 2);
      await testInfo.attach("basalt-world.json", { body, contentType: "application/json" });
    }
  },
  context: async ({ context, world, supabaseUrl }, use) => {
    const { url, publishableKey, storageKey } = world;
    await context.addInitScript((world) => Object.assign(globalThis, { basaltWorld: world }), {
      url,
      publishableKey,
      storageKey,
    });
    if (supabaseUrl !== undefined) {
      const target = supabaseUrl.replace(/\/$/, "");
      await context.route(`${target}/**`, async (route) => {
        const request = route.request();
        const headers = await request.allHeaders();
        const { apikey } = headers;
        if (apikey !== undefined) headers.apikey = publishableKey;
        if (headers.authorization === `Bearer ${apikey}`) {
          headers.authorization = `Bearer ${publishableKey}`;
        }
        await route.continue({ url: url + request.url().slice(target.length), headers });
      });
    }
    await use(context);
  },
  signedInPage: async ({ context, page, world, baseURL, supabaseUrl, sessionOptions }, use) => {
    const user = await world.users.create();
    const { session } = await world.sessions.create(user, sessionOptions);
    const key = supabaseUrl === undefined ? world.storageKey : deriveStorageKey(supabaseUrl);
    // Once: a sign-out in the page stays one.
    await context.addInitScript(
      ({ key, value, origin }) => {
        const isStored = `${key}-is-stored`;
        if (origin !== undefined && location.origin !== origin) return;
        if (sessionStorage.getItem(isStored) !== null) return;
        sessionStorage.setItem(isStored, "yes");
        localStorage.setItem(key, value);
      },
      {
        key,
        value: JSON.stringify(session),
        origin: baseURL === undefined ? undefined : new URL(baseURL).origin,
      },
    );
    await use({ page, user, session });
  },
});

/** Returns the key that supabase-js derives from a project's URL. */
function deriveStorageKey(supabaseUrl: string): string {
  return `sb-${new URL(supabaseUrl).hostname.split(".")[0]}-auth-token`;
}

/** The `expect` of Playwright with `toHaveMailed` and `toHaveAudited`. */
export const expect = baseExpect.extend(matchers);
