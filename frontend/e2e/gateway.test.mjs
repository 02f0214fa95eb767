// supabase-js, unmodified, with one URL and services behind it that are not Basalt's.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createClient } from "@supabase/supabase-js";
import { startBasalt } from "./basalt.mjs";
import { startServices } from "./services.mjs";

/** @type {import("./basalt.mjs").Basalt} */
let basalt;
/** @type {import("./services.mjs").Services} */
let services;

before(async () => {
  services = await startServices();
  const names = ["rest", "storage", "realtime"];
  const table = names.map((name) => `${name} = "${services.url}"\n`).join("");
  basalt = await startBasalt((config) => `${config}\n[basalt.upstreams]\n${table}`);
});

after(async () => {
  await basalt.stop();
  services.stop();
});

/** @param {string | undefined} authorization */
function roleOf(authorization) {
  const payload = (authorization ?? "").split(".")[1] ?? "";
  return JSON.parse(Buffer.from(payload, "base64url").toString() || "{}").role;
}

test("tables are read with the key and with the token of a user", async () => {
  const client = createClient(basalt.url, basalt.publishableKey);
  const anonymous = await client.from("todos").select("*", { count: "exact" }).eq("id", 1);
  assert.equal(anonymous.error, null);
  assert.deepEqual(anonymous.data, [{ id: 1, title: "first" }]);
  assert.equal(anonymous.count, 1);
  const first = services.requests.at(-1);
  assert.equal(first?.url, "/todos?select=*&id=eq.1");
  assert.equal(roleOf(first?.headers.authorization), "anon");

  const admin = createClient(basalt.url, basalt.secretKey);
  await admin.from("todos").select();
  assert.equal(roleOf(services.requests.at(-1)?.headers.authorization), "service_role");

  const email = `gateway-${Date.now()}@example.com`;
  await admin.auth.admin.createUser({ email, password: "a long password 1", email_confirm: true });
  const { error } = await client.auth.signInWithPassword({ email, password: "a long password 1" });
  assert.equal(error, null);
  await client.from("todos").insert({ title: "second" });
  const third = services.requests.at(-1);
  assert.equal(third?.method, "POST");
  assert.equal(roleOf(third?.headers.authorization), "authenticated");
  assert.equal(roleOf(String(third?.headers.apikey)), "anon");
});

test("a file is uploaded", async () => {
  const client = createClient(basalt.url, basalt.publishableKey);
  const file = new Blob([new Uint8Array(3 << 20)], { type: "image/png" });
  const { data, error } = await client.storage.from("photos").upload("a.png", file);
  assert.equal(error, null);
  assert.equal(data?.path, "a.png");
  const request = services.requests.at(-1);
  assert.equal(request?.url, "/object/photos/a.png");
  assert.ok((request?.size ?? 0) > 3 << 20);
  const { publicUrl } = client.storage.from("photos").getPublicUrl("a.png").data;
  assert.equal((await fetch(publicUrl)).status, 200);
});

test("a channel is joined and receives a broadcast", async () => {
  const client = createClient(basalt.url, basalt.publishableKey);
  const channel = client.channel("room", { config: { broadcast: { self: true } } });
  const received = new Promise((resolve) =>
    channel.on("broadcast", { event: "hello" }, ({ payload }) => resolve(payload)),
  );
  await new Promise((resolve, reject) =>
    channel.subscribe((status, error) => {
      if (status === "SUBSCRIBED") resolve(undefined);
      else reject(error ?? new Error(status));
    }),
  );
  const opened = services.requests.find((request) => request.url.startsWith("/socket/websocket"));
  const parameters = new URL(opened?.url ?? "", services.url).searchParams;
  assert.equal(roleOf(parameters.get("apikey") ?? ""), "anon");
  await channel.send({ type: "broadcast", event: "hello", payload: { number: 7 } });
  assert.deepEqual(await received, { number: 7 });
  await client.removeAllChannels();
});
