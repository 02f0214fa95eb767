// A React application with supabase-js, recorded by `basalt record` and replayed by `basalt replay`.
//
// With REFERENCE_BIN, the path of GoTrue's server with its migrations beside it or in REFERENCE_FOLDER, the same application is
// recorded in front of it, too, and each recording is replayed against the other server.
import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { chromium } from "@playwright/test";
import { driveApplication } from "./recorded-app/browser.mjs";
import { endAll, freePort, run, startJson } from "./recorded-app/processes.mjs";
import { startReference } from "./recorded-app/reference.mjs";
import { servePage } from "./recorded-app/site.mjs";

const FLOWS = ["magic-link-and-passkey.json", "sign-up-and-totp.json", "social.json"];

/** @type {{ site: any, browser: any, server: any, folder: string }} */
const shared = { site: null, browser: null, server: null, folder: "" };

before(async () => {
  shared.folder = await mkdtemp(join(tmpdir(), "basalt-recorded-"));
  shared.site = await servePage();
  shared.server = await startJson(["serve", "--test", "--json", "--port", "0"]);
  shared.browser = await chromium.launch({
    executablePath: process.env.CHROMIUM_BIN ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
  });
});

after(async () => {
  await shared.browser?.close();
  endAll();
  await shared.server?.stop();
  await shared.site?.close();
  await rm(shared.folder, { recursive: true, force: true });
});

/**
 * Calls the test API.
 *
 * @param {string} path
 * @param {object} [body]
 * @returns {Promise<any>}
 */
async function testApi(path, body) {
  const { test_url: url, test_key: key } = shared.server.ready;
  const response = await fetch(`${url}${path}`, {
    method: body ? "POST" : "GET",
    headers: { authorization: `Bearer ${key}` },
    body: body ? JSON.stringify(body) : null,
  });
  assert.ok(response.ok, `${path}: ${response.status}`);
  return response.status === 204 ? null : response.json();
}

function createWorld() {
  const origin = shared.site.origin;
  const auth = {
    site_url: origin,
    additional_redirect_urls: [`${origin}/**`],
    email: { enable_confirmations: true },
    mfa: { totp: { enroll_enabled: true, verify_enabled: true } },
    passkey: { enabled: true },
    webauthn: { rp_id: "localhost", rp_display_name: "Account", rp_origins: [origin] },
  };
  const basalt = { provider: { stands_in_for: ["github"] } };
  return testApi("/worlds", { profile: "serve", config: { auth, basalt } });
}

/**
 * Replays recordings, which must be without a difference.
 *
 * @param {string} folder
 * @param {string[]} more
 */
async function replay(folder, ...more) {
  const output = await run(["replay", folder, ...more]);
  assert.equal(output.status, 0, output.text);
  return output.text;
}

test("an application is recorded at Basalt and replayed without a difference", async () => {
  const world = await createWorld();
  const out = join(shared.folder, "basalt");
  const recorder = await startJson([
    "record",
    "--upstream",
    world.url,
    "--port",
    "0",
    "--out",
    out,
    "--json",
  ]);
  await driveApplication({
    browser: shared.browser,
    site: shared.site.origin,
    proxy: recorder.ready.url,
    server: world.url,
    key: world.publishable_key,
    messages: async (/** @type {string} */ to) =>
      (await testApi(`/worlds/${world.id}/messages?to=${encodeURIComponent(to)}`)).messages,
    consent: () =>
      testApi(`/worlds/${world.id}/providers/github/next`, {
        sub: "77",
        email: "octo@corp.example",
        email_verified: true,
      }),
  });
  await recorder.stop();
  assert.deepEqual((await readdir(out)).sort(), FLOWS);
  assert.match(await replay(out), /3 passed, 0 failed/);
});

test("recordings of the reference and of Basalt fit each other", {
  skip: !process.env.REFERENCE_BIN,
}, async () => {
  const out = join(shared.folder, "reference");
  const port = await freePort();
  const proxy = `http://127.0.0.1:${port}`;
  const reference = await startReference(shared.server.ready, shared.site.origin, proxy);
  try {
    const recorder = await startJson([
      "record",
      "--upstream",
      reference.url,
      "--port",
      String(port),
      "--out",
      out,
      "--json",
    ]);
    await driveApplication({
      browser: shared.browser,
      site: shared.site.origin,
      proxy,
      server: proxy,
      key: reference.key,
      messages: async (/** @type {string} */ to) =>
        (await testApi(`/worlds/default/messages?to=${encodeURIComponent(to)}`)).messages,
      consent: async () => {},
    });
    await recorder.stop();
    assert.match(await replay(out), /3 passed, 0 failed/);
    const against = [
      "--against",
      reference.url,
      "--jwt-secret",
      reference.secret,
      "--messages",
      shared.server.ready.mailpit_url,
    ];
    const text = await replay(join(shared.folder, "basalt"), "--only", "*-and-*", ...against);
    assert.match(text, /2 passed, 0 failed/);
  } finally {
    await reference.stop();
  }
});
