import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";

import { Basalt, matchers, type World } from "../src/index.js";

expect.extend(matchers);

interface Call {
  call: string;
  key: string | undefined;
  body: unknown;
}

/** Starts a server that gives these answers and records the calls; returns its world. */
async function serve(answers: Record<string, unknown>): Promise<{ world: World; calls: Call[] }> {
  const calls: Call[] = [];
  const server = createServer(async (request, response) => {
    const body = await readBody(request);
    const call = `${request.method} ${request.url}`;
    calls.push({ call, key: request.headers.authorization, body });
    const path = call.split("?")[0] ?? "";
    response.statusCode = path in answers ? 200 : 404;
    response.end(
      JSON.stringify(answers[path] ?? { code: "not_found", message: call, hint: "none" }),
    );
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const basalt = new Basalt(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, "key");
  answers["GET /worlds/w"] = { id: "w" };
  const world = await basalt.find("w");
  calls.length = 0;
  return { world, calls };
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const part of request) text += part;
  return text === "" ? undefined : JSON.parse(text);
}

function event(id: number, action: string) {
  return { id, kind: "audit", at: "", request_id: "", user_id: null, data: { action } };
}

test("audit entries have a matcher", async () => {
  const events = [event(1, "user_signedup"), event(2, "login")];
  const { world, calls } = await serve({ "GET /worlds/w/events": { events } });
  await expect(world).toHaveAudited("login", { user: "u" });
  expect(calls[0]?.call).toBe("GET /worlds/w/events?kind=audit&user=u");
  await expect(world).not.toHaveAudited("logout");
  const failing = expect(world).toHaveAudited("logout", { timeout: 60 });
  await expect(failing).rejects.toThrow("its entries: user_signedup, login");
});

test("events are streamed from the last one on", async () => {
  const { world, calls } = await serve({ "GET /worlds/w/events": { events: [event(7, "login")] } });
  const seen: number[] = [];
  for await (const { id } of world.events.stream({ kind: "audit" })) {
    seen.push(id);
    if (seen.length === 2) break;
  }
  expect(seen).toEqual([7, 7]);
  expect(calls.map(({ call }) => call)).toEqual([
    "GET /worlds/w/events?kind=audit&wait=30",
    "GET /worlds/w/events?kind=audit&after=7&wait=30",
  ]);
});

test("a passkey signs with its latest state, for its relying party", async () => {
  const path = "POST /worlds/w/authenticators/passkeys";
  const passkey = { credential_id: "c", private_key: "k", rp_id: "localhost", sign_count: 0 };
  const answers = { [path]: { credential: { id: "c" }, passkey } };
  const { world, calls } = await serve(answers);
  await expect(world.passkeys.get({ challenge: "x" })).rejects.toMatchObject({
    code: "passkey_missing",
  });
  expect(await world.passkeys.create({ challenge: "x" }, { origin: "http://localhost" })).toEqual({
    id: "c",
  });
  answers[path] = { credential: { id: "c" }, passkey: { ...passkey, sign_count: 1 } };
  await world.passkeys.get({ challenge: "y", allowCredentials: [{ id: "c" }] });
  await world.passkeys.get({ challenge: "z" }, { userVerified: false });
  expect(calls.map(({ body }) => body)).toEqual([
    { options: { challenge: "x" }, origin: "http://localhost" },
    { options: { challenge: "y", allowCredentials: [{ id: "c" }] }, passkey },
    { options: { challenge: "z" }, passkey: { ...passkey, sign_count: 1 }, user_verified: false },
  ]);
  await expect(world.passkeys.get({ challenge: "x", rpId: "example.com" })).rejects.toThrow("fits");
});

test("the next sign-in at a provider is set, and refusals carry code and hint", async () => {
  const { world, calls } = await serve({ "POST /worlds/w/providers/google/next": {} });
  await world.providers.next("google", { sub: "7", email: "ann@example.com" });
  expect(calls).toEqual([
    {
      call: "POST /worlds/w/providers/google/next",
      key: "Bearer key",
      body: { sub: "7", email: "ann@example.com" },
    },
  ]);
  await expect(world.providers.next("none", { sub: "7" })).rejects.toMatchObject({
    code: "not_found",
    hint: "none",
    status: 404,
  });
});
