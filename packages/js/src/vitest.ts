import { test as base, expect } from "vitest";

import { type BasaltMatchers, matchers } from "./matchers.js";
import { formatReport, reportWorld } from "./report.js";
import { type Basalt, sharedBasalt } from "./server.js";
import type { NewWorld, World } from "./world.js";

declare module "vitest" {
  // biome-ignore lint/suspicious/noExplicitAny: the declaration that is extended has it
  interface Matchers<T = any> extends BasaltMatchers {}
}

expect.extend(matchers);

/** What a test gets. */
export interface Fixtures {
  /** The server. */
  basalt: Basalt;
  /** Settings and data of the world: `test.override("worldOptions", { … })`, or `test.extend`. */
  worldOptions: NewWorld;
  /** A world of this test alone, deleted afterwards. */
  world: World;
}

/** The `test` of vitest with a server and a world: `test("…", async ({ world }) => { … })`. */
export const test = base.extend<Fixtures>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest wants the pattern
  basalt: async ({}, use) => {
    await use(await sharedBasalt());
  },
  worldOptions: {},
  world: async ({ basalt, worldOptions, task }, use) => {
    const world = await basalt.world(worldOptions);
    await use(world);
    // Shown with the test: what happened is gone with the world.
    if (task.result?.state === "fail") console.error(formatReport(await reportWorld(world)));
    await world.delete();
  },
});

export { matchers } from "./matchers.js";
export { expect };
