import assert from "node:assert/strict";
import { once } from "node:events";
import test from "node:test";
import { worldOf } from "@basalt/test/node";

import { createApp } from "./app.mjs";

/** Starts the application on a world of its own; both end with the test. */
async function start(t) {
  const world = await worldOf(t);
  const { url, publishableKey: key, storageKey } = world;
  const server = createApp({ url, key, storageKey }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const origin = `http://127.0.0.1:${server.address().port}`;
  const get = (cookie = "") => fetch(origin, { headers: { cookie, connection: "close" } });
  return { world, origin, get };
}

test("without cookies no user is signed in", async (t) => {
  const { get } = await start(t);
  assert.equal(await (await get()).text(), "<h1>Sign in</h1>");
});

test("the cookies of a session sign in", async (t) => {
  const { world, origin, get } = await start(t);
  const user = await world.users.create();
  const { cookie_header } = await world.sessions.create(user, { origin, format: "ssr" });
  assert.equal(await (await get(cookie_header)).text(), `<h1>Signed in as ${user.email}</h1>`);
});

test("an expired session is refreshed, and its cookies are replaced", async (t) => {
  const { world, origin, get } = await start(t);
  const user = await world.users.create();
  const session = await world.sessions.create(user, { origin, expires_in: -60, format: "ssr" });
  const response = await get(session.cookie_header);
  assert.equal(await response.text(), `<h1>Signed in as ${user.email}</h1>`);
  assert.ok(response.headers.getSetCookie().some((cookie) => cookie.startsWith(world.storageKey)));
});

test("an ended session does not sign in", async (t) => {
  const { world, origin, get } = await start(t);
  const user = await world.users.create();
  const { cookie_header } = await world.sessions.create(user, { origin, format: "ssr" });
  await world.admin().auth.admin.deleteUser(user.id);
  assert.equal(await (await get(cookie_header)).text(), "<h1>Sign in</h1>");
});
