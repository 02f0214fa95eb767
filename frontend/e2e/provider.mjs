// The server as an OAuth provider of other apps: with a signing key for ID tokens, and accounts without confirmation.
import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startBasalt } from "./basalt.mjs";

/**
 * @typedef {import("./basalt.mjs").Basalt} Basalt
 * @typedef {{ email: string, password: string, accessToken: string }} TestUser
 * @typedef {{ client_id: string, client_secret: string }} RegisteredApp
 */

/** @returns {Promise<Basalt>} */
export async function startProvider() {
  const folder = await mkdtemp(join(tmpdir(), "basalt-keys-"));
  const file = join(folder, "signing-keys.json");
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const key = { ...privateKey.export({ format: "jwk" }), kid: "e2e", alg: "ES256" };
  await writeFile(file, JSON.stringify([{ ...key, key_ops: ["sign", "verify"] }]));
  const basalt = await startBasalt(
    (config) =>
      `${config
        .replace("[auth]", `[auth]\nsigning_keys_path = "${file}"`)
        .replace("enable_confirmations = true", "enable_confirmations = false")}
[auth.oauth_server]
enabled = true
allow_dynamic_registration = true
`,
  );
  async function stop() {
    await basalt.stop();
    await rm(folder, { recursive: true });
  }
  return { ...basalt, stop };
}

/**
 * Sends a request to the auth API.
 *
 * @param {Basalt} basalt
 * @param {string} path
 * @param {{ method?: string, body?: object, token?: string, key?: string }} [more]
 * @returns {Promise<any>} the response body; throws if the request fails
 */
export async function ask(basalt, path, { method, body, token, key } = {}) {
  const headers = new Headers({ apikey: key ?? basalt.publishableKey });
  if (token) headers.set("authorization", `Bearer ${token}`);
  if (body) headers.set("content-type", "application/json");
  const answer = await fetch(`${basalt.url}/auth/v1${path}`, {
    method: method ?? (body ? "POST" : "GET"),
    headers,
    body: body ? JSON.stringify(body) : null,
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${text}`);
  return text ? JSON.parse(text) : undefined;
}

/**
 * Signs up a new user.
 *
 * @param {Basalt} basalt
 * @param {string} email
 * @returns {Promise<TestUser>}
 */
export async function signUp(basalt, email) {
  const password = "a long walk along the quay";
  const body = { email, password, data: { name: "Ada" } };
  const { access_token: accessToken } = await ask(basalt, "/signup", { body });
  return { email, password, accessToken };
}

/**
 * Registers an app as an administrator.
 *
 * @param {Basalt} basalt
 * @param {object} metadata
 * @returns {Promise<RegisteredApp>}
 */
export function registerApp(basalt, metadata) {
  return ask(basalt, "/admin/oauth/clients", { key: basalt.secretKey, body: metadata });
}

/**
 * Follows the redirect of an app to the authorization endpoint, and approves as a user.
 *
 * @param {Basalt} basalt
 * @param {TestUser} user
 * @param {URL} url
 * @returns {Promise<URL>} the redirect back to the app
 */
export async function approve(basalt, user, url) {
  const sent = await fetch(url, { redirect: "manual" });
  const page = new URL(sent.headers.get("location") ?? "");
  const path = `/oauth/authorizations/${page.searchParams.get("authorization_id")}`;
  const token = user.accessToken;
  const authorization = await ask(basalt, path, { token });
  const body = { action: "approve" };
  const { redirect_url } = authorization.redirect_url
    ? authorization
    : await ask(basalt, `${path}/consent`, { token, body });
  return new URL(redirect_url);
}
