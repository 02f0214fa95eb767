import { expect, test } from "@basalt/test/vitest";

import { Account } from "./account.js";

const EMAIL = "ann@example.com";

test("a mailed code signs in", async ({ world }) => {
  const account = new Account(world.client());
  await account.requestCode(EMAIL);
  await expect(world).toHaveMailed(EMAIL);
  const { code } = await world.messages.wait(EMAIL);
  expect(await account.enterCode(EMAIL, code ?? "")).toBe(EMAIL);
});

test("a code expires after an hour", async ({ world }) => {
  const account = new Account(world.client());
  await account.requestCode(EMAIL);
  const { code } = await world.messages.wait(EMAIL);
  await world.clock.advance("61m");
  await expect(account.enterCode(EMAIL, code ?? "")).rejects.toMatchObject({ code: "otp_expired" });
});

test("an access token expires after an hour", async ({ world }) => {
  const supabase = world.client();
  const user = await world.users.create();
  await supabase.auth.setSession((await world.sessions.create(user)).session);
  const account = new Account(supabase);
  expect(await account.currentEmail()).toBe(user.email);
  await world.clock.advance("61m");
  expect(await account.currentEmail()).toBeUndefined();
});

test("the application repeats a request that an overloaded server refused", async ({ world }) => {
  const password = "correct horse battery";
  await world.users.create({ email: EMAIL, password });
  await world.faults.add({ match: { path: "/auth/v1/token*" }, do: { status: 503 }, count: 1 });
  expect(await new Account(world.client()).signIn(EMAIL, password)).toBe(true);
});
