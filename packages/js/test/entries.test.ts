import { afterEach, expect, test } from "vitest";

import { World } from "../src/index.js";
import { worldOf } from "../src/node.js";

test("the entry for Jest extends the global expect and deletes the worlds of a test", async () => {
  const finished: (() => Promise<void>)[] = [];
  Object.assign(globalThis, {
    expect,
    afterEach: (hook: () => Promise<void>) => finished.push(hook),
  });
  const { basalt, createWorld } = await import("../src/jest.js");
  const world = await createWorld({ name: "of Jest" });
  await expect(world).not.toHaveMailed("ann@example.com");
  for (const finish of finished) await finish();
  await expect((await basalt()).find(world.id)).rejects.toMatchObject({ code: "not_found" });
});

test("the entry for node:test deletes the world after the test", async () => {
  const finished: (() => unknown)[] = [];
  const world = await worldOf({ after: (hook) => void finished.push(hook as () => unknown) });
  expect(world).toBeInstanceOf(World);
  for (const finish of finished) await finish();
  await expect(world.clock.now()).rejects.toMatchObject({ status: 404 });
});

afterEach(() => {
  Reflect.deleteProperty(globalThis, "expect");
  Reflect.deleteProperty(globalThis, "afterEach");
});
