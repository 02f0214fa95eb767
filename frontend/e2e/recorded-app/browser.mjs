// Uses the application in a browser: sign-up, second factor, magic link, passkey, social sign-in.
import { createHmac } from "node:crypto";
import { expect } from "@playwright/test";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/**
 * How the application is used: the browser, the URLs of application, recorder and server, and what the user gets elsewhere.
 *
 * @typedef {object} Use
 * @property {import("@playwright/test").Browser} browser
 * @property {string} site
 * @property {string} proxy
 * @property {string} server
 * @property {string} key
 * @property {(to: string) => Promise<{ link: string }[]>} messages
 * @property {() => Promise<void>} consent
 */

/**
 * Returns the one-time password of a secret (RFC 6238).
 *
 * @param {string} secret
 */
function totp(secret) {
  const bits = [...secret]
    .map((each) => ALPHABET.indexOf(each).toString(2).padStart(5, "0"))
    .join("");
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const mac = createHmac("sha1", key).update(counter).digest();
  const offset = (mac.at(-1) ?? 0) & 15;
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}

/**
 * @param {string} proxy
 * @param {string} name
 */
async function nameFlow(proxy, name) {
  const response = await fetch(`${proxy}/_record/flow`, {
    method: "POST",
    body: JSON.stringify({ name }),
  });
  expect(response.status).toBe(204);
}

/**
 * Opens the application with a session of its own.
 *
 * @param {Use} use
 */
async function open(use) {
  const context = await use.browser.newContext();
  const page = await context.newPage();
  await page.goto(
    `${use.site}/?server=${encodeURIComponent(use.proxy)}&key=${encodeURIComponent(use.key)}`,
  );
  return page;
}

/**
 * Opens the link of the latest mail; the recorder stands where the server's URL leads.
 *
 * @param {Use} use
 * @param {import("@playwright/test").Page} page
 * @param {string} to
 */
async function followMail(use, page, to) {
  await expect(page.getByRole("status")).toHaveText("Mail sent");
  let link = "";
  await expect
    .poll(async () => {
      link = (await use.messages(to)).at(-1)?.link ?? "";
      return link;
    })
    .not.toBe("");
  await page.goto(link.replace(use.server, use.proxy));
  await expect(page.getByRole("heading")).toHaveText(`Signed in as ${to}`);
}

/** @param {Use} use */
async function signUp(use) {
  await nameFlow(use.proxy, "sign-up-and-totp");
  const page = await open(use);
  await page.getByLabel("E-mail").fill("zoe@corp.example");
  await page.getByLabel("Password").fill("correct horse battery");
  await page.getByRole("button", { name: "Send" }).click();
  await followMail(use, page, "zoe@corp.example");
  await press(page, "Check", "Checked");
  await press(page, "Enrol", "Enrolled");
  await page.getByLabel("Code").fill(totp((await page.locator("code").textContent()) ?? ""));
  await press(page, "Verify", "Verified");
  await press(page, "Check", "Checked");
  await page.context().close();
}

/**
 * @param {import("@playwright/test").Page} page
 * @param {string} name
 * @param {string} status
 */
async function press(page, name, status) {
  await page.getByRole("button", { name, exact: true }).click();
  await expect(page.getByRole("status")).toHaveText(status);
}

/** @param {Use} use */
async function followMagicLink(use) {
  await nameFlow(use.proxy, "magic-link-and-passkey");
  const page = await open(use);
  const authenticator = await page.context().newCDPSession(page);
  await authenticator.send("WebAuthn.enable");
  await authenticator.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  await page.getByLabel("E-mail").fill("magic@corp.example");
  await page.getByRole("button", { name: "Send" }).click();
  await followMail(use, page, "magic@corp.example");
  await press(page, "Register passkey", "Registered");
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByRole("heading")).toHaveText("Signed out");
  await press(page, "Passkey", "Done");
  await expect(page.getByRole("heading")).toHaveText("Signed in as magic@corp.example");
  await page.context().close();
}

/** @param {Use} use */
async function signInAtProvider(use) {
  await nameFlow(use.proxy, "social");
  const page = await open(use);
  await page.getByRole("button", { name: "GitHub" }).click();
  const status = page.getByRole("status");
  await expect(status).toContainText("/authorize?");
  let url = ((await status.textContent()) ?? "").replace("Error: ", "");
  await use.consent();
  // The redirects are followed here, because those of a provider lead to the server and not to the recorder.
  while (!url.includes("/auth/v1/callback?")) {
    const response = await fetch(url, { redirect: "manual" });
    url = response.headers.get("location") ?? "";
    expect(url, `${response.status}`).not.toBe("");
  }
  await page.goto(url.replace(use.server, use.proxy));
  await expect(page.getByRole("heading")).toHaveText("Signed in as octo@corp.example");
  await page.context().close();
}

/**
 * Uses the application in three flows.
 *
 * @param {Use} use
 */
export async function driveApplication(use) {
  await signUp(use);
  await followMagicLink(use);
  await signInAtProvider(use);
}
