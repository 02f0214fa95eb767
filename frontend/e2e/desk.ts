import { randomUUID } from "node:crypto";
import type { BrowserContext, Page } from "@playwright/test";
import { codeOf } from "./authenticators.ts";
import { startBasalt } from "./basalt.mjs";
import { expect, mailsTo, test as shopTest } from "./shop.ts";

type Basalt = Awaited<ReturnType<typeof startBasalt>>;

/** An owner of the desk, and the secret of the authenticator app. */
interface Owner {
  email: string;
  secret: string;
}

/** The cookies of a session. */
type Cookies = Awaited<ReturnType<BrowserContext["cookies"]>>;

const PASSWORD = "a long sentence for the desk 7";

/** Tests of a signed-in owner, with a binary per worker. */
export const test = shopTest.extend<{ signedIn: undefined }, { session: Cookies }>({
  session: [
    async ({ basalt, browser }, use) => {
      const context = await browser.newContext();
      await setUp(await context.newPage(), basalt.deskSetupUrl);
      const cookies = await context.cookies(`${new URL(basalt.deskSetupUrl).origin}/_desk`);
      await context.close();
      await use(cookies);
    },
    { scope: "worker", timeout: 180_000 },
  ],
  baseURL: async ({ basalt }, use) => use(new URL(basalt.deskSetupUrl).origin),
  signedIn: [
    async ({ context, session }, use) => {
      await context.addCookies(session);
      await use(undefined);
    },
    { auto: true },
  ],
});

/** Tests with a binary of their own that has no owner yet. */
export const setupTest = shopTest.extend<{ empty: Basalt }>({
  empty: async ({ browserName: _ }, use) => {
    const basalt = await startBasalt();
    await use(basalt);
    await basalt.stop();
  },
  baseURL: async ({ empty }, use) => use(new URL(empty.deskSetupUrl).origin),
});

/** Follows the one-time link until the desk is shown, without a passkey. */
export async function setUp(page: Page, link: string): Promise<Owner> {
  const email = `owner-${randomUUID()}@example.com`;
  await page.goto(link);
  const secret = await enterOwner(page, email);
  await page.getByLabel("Code of the authenticator app").fill(codeOf(secret));
  await page.getByRole("button", { name: "Confirm" }).click();
  await page.getByRole("button", { name: "I have kept the codes" }).click();
  await page.getByRole("button", { name: "Not now" }).click();
  await expect(page.getByRole("heading", { name: "Submissions" })).toBeVisible();
  return { email, secret };
}

/** Enters address and password of the new owner; returns the secret of the authenticator app. */
export async function enterOwner(page: Page, email: string): Promise<string> {
  await page.getByLabel("Email address").fill(email);
  await page.getByLabel("New password").fill(PASSWORD);
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page.getByRole("img", { name: /QR code/ })).toBeVisible();
  return (await page.locator("code").textContent())?.replaceAll(/\s/g, "") ?? "";
}

/** Signs in by password and the code of the next step, as each code counts once. */
export async function signIn(page: Page, owner: Owner): Promise<void> {
  await page.getByRole("textbox", { name: "Email address" }).fill(owner.email);
  await page.getByRole("textbox", { name: "Password" }).fill(PASSWORD);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByLabel("Code of the authenticator app").fill(codeOf(owner.secret, 1));
  await page.getByRole("button", { name: "Sign in" }).click();
}

export { expect, mailsTo };
