import type { TestContext } from "node:test";

import { sharedBasalt } from "./server.js";
import type { NewWorld, World } from "./world.js";

/** Creates a world of a test of `node:test`, deleted after it: `const world = await worldOf(t)`. */
export async function worldOf(
  context: Pick<TestContext, "after">,
  options: NewWorld = {},
): Promise<World> {
  const world = await (await sharedBasalt()).world(options);
  context.after(() => world.delete());
  return world;
}

export { sharedBasalt as basalt };
