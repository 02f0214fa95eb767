import { basalt, createWorld } from "@basalt/test/jest";

import { enterCode, requestCode } from "./account.js";

const EMAIL = "ann@example.com";
const created = [];

test("a mailed code signs in", async () => {
  const world = await createWorld();
  created.push(world.id);
  const supabase = world.client();
  await requestCode(supabase, EMAIL);
  await expect(world).toHaveMailed(EMAIL);
  const { code } = await world.messages.wait(EMAIL);
  expect(await enterCode(supabase, EMAIL, code)).toBe(EMAIL);
});

test("a code expires after an hour", async () => {
  const world = await createWorld();
  const supabase = world.client();
  await requestCode(supabase, EMAIL);
  const { code } = await world.messages.wait(EMAIL);
  await world.clock.advance("61m");
  await expect(enterCode(supabase, EMAIL, code)).rejects.toMatchObject({ code: "otp_expired" });
});

test("worlds end with their tests", async () => {
  const world = await createWorld();
  const server = await basalt();
  const ids = (await server.worlds()).map(({ id }) => id);
  expect(ids).toContain(world.id);
  expect(ids).not.toContain(created[0]);
});
