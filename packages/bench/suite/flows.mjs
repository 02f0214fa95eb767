import { expect, test } from "vitest";

import { onWorld } from "./world.mjs";

const ORIGIN = "http://localhost:3000";
const password = "correct horse battery";
let number = 0;

/** Sends a request to the auth API; returns its JSON. */
async function auth(world, path, body, token) {
  const headers = { apikey: world.publishableKey, "content-type": "application/json" };
  if (token) headers.authorization = `Bearer ${token}`;
  const response = await fetch(`${world.url}/auth/v1${path}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  expect(response.status, JSON.stringify(answer)).toBe(200);
  return answer;
}

/** From the sign-up to a sign-in with a passkey. */
async function walk(world) {
  number += 1;
  const email = `user${number}-${process.pid}@example.com`;
  await auth(world, "/signup", { email, password });
  const { code } = await world.messages.wait(email);
  const { access_token: token } = await auth(world, "/verify", {
    type: "signup",
    email,
    token: code,
  });
  const registration = await auth(world, "/passkeys/registration/options", {}, token);
  const created = await world.passkeys.create(registration.options, { origin: ORIGIN });
  const { challenge_id } = registration;
  await auth(world, "/passkeys/registration/verify", { challenge_id, credential: created }, token);
  const sign = await auth(world, "/passkeys/authentication/options", {});
  const credential = await world.passkeys.get(sign.options, { origin: ORIGIN });
  const body = { challenge_id: sign.challenge_id, credential };
  const session = await auth(world, "/passkeys/authentication/verify", body);
  expect(session.user.email).toBe(email);
}

/** Defines the tests of a file. */
export function defineTests() {
  for (let count = 1; count <= Number(process.env.BENCH_TESTS); count += 1) {
    test(`walk ${count}`, () => onWorld(walk));
  }
}
