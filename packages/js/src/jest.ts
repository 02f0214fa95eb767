import { type BasaltMatchers, matchers } from "./matchers.js";
import { sharedBasalt } from "./server.js";
import type { NewWorld, World } from "./world.js";

/** The part of Jest that this module needs; its globals are defined where Jest runs. */
interface JestGlobals {
  expect?: { extend(matchers: object): void };
  afterEach?: (action: () => Promise<void>) => void;
}

declare global {
  namespace jest {
    interface Matchers<R> extends BasaltMatchers {}
  }
}

const globals = globalThis as JestGlobals;
const open = new Set<World>();

/** Creates a world that is deleted after the test. */
export async function createWorld(options: NewWorld = {}): Promise<World> {
  const world = await (await sharedBasalt()).world(options);
  open.add(world);
  return world;
}

async function deleteWorlds(): Promise<void> {
  const worlds = [...open];
  open.clear();
  await Promise.all(worlds.map((world) => world.delete()));
}

globals.expect?.extend(matchers);
globals.afterEach?.(deleteWorlds);

export { matchers, sharedBasalt as basalt };
