import { randomUUID } from "node:crypto";
import type { Page } from "@playwright/test";
import { findViolations } from "./axe.ts";
import { expect, test } from "./shop.ts";

/** Signs a new user up, whose address has to be confirmed by mail. */
async function signUp(url: string, publishableKey: string): Promise<string> {
  const email = `${randomUUID()}@example.com`;
  const response = await fetch(`${url}/auth/v1/signup`, {
    method: "POST",
    headers: { apikey: publishableKey, "content-type": "application/json" },
    body: JSON.stringify({ email, password: "correct horse" }),
  });
  expect(response.status).toBe(200);
  return email;
}

const itemOf = (page: Page, email: string) =>
  page.getByRole("listitem").filter({ hasText: email.slice(0, 18) });

test("mail appears without reloading, and its link and code are copied", async ({
  page,
  basalt,
  context,
}) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto("/_dev/inbox");
  await expect(page.getByRole("heading", { name: "Inbox" })).toBeVisible();
  const email = await signUp(basalt.url, basalt.publishableKey);
  await itemOf(page, email).click();
  const preview = page.frameLocator("#preview");
  await expect(preview.getByRole("link").first()).toBeVisible();
  await page.keyboard.press("c");
  await expect(page.getByRole("status")).toHaveText("Code copied");
  const code = await page.locator("#code").textContent();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(code);
  await page.getByRole("button", { name: "Copy link" }).click();
  await expect(page.getByRole("status")).toHaveText("Link copied");
  const link = await page.evaluate(() => navigator.clipboard.readText());
  const confirmed = await fetch(link, { redirect: "manual" });
  expect(confirmed.headers.get("location")).toContain("access_token=");
});

test("search, unread messages and deletion", async ({ page, basalt }) => {
  const email = await signUp(basalt.url, basalt.publishableKey);
  await page.goto("/_dev/inbox");
  await page.keyboard.press("/");
  await page.keyboard.type(email);
  await expect(page.getByRole("listitem")).toHaveCount(1);
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await expect(page.getByRole("button", { name: "Mark as unread" })).toBeVisible();
  await page.keyboard.press("Delete");
  await expect(page.getByRole("status")).toHaveText("Message deleted");
  await expect(page.getByText("No message matches.")).toBeVisible();
});

test("many messages scroll in their list, and the page does not", async ({ page, basalt }) => {
  await page.setViewportSize({ width: 1000, height: 300 });
  for (let mail = 0; mail < 6; mail += 1) await signUp(basalt.url, basalt.publishableKey);
  await page.goto("/_dev/inbox");
  await expect.poll(() => page.locator("#list li").count()).toBeGreaterThanOrEqual(6);
  const heights = await page.evaluate(() => [
    document.documentElement.scrollHeight,
    document.documentElement.clientHeight,
  ]);
  expect(heights[0]).toBe(heights[1]);
});

for (const colorScheme of ["light", "dark"] as const) {
  test(`page is accessible and fits a phone, ${colorScheme}`, async ({ page, basalt }) => {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width: 320, height: 640 });
    const email = await signUp(basalt.url, basalt.publishableKey);
    await page.goto("/_dev/inbox");
    const check = async () => {
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(width).toBe(320);
      // The script of axe does not run in the sandbox of the mail.
      const violations = await findViolations(page, "#preview");
      expect(violations).toEqual([]);
    };
    await expect(itemOf(page, email)).toBeVisible();
    await check();
    await itemOf(page, email).click();
    await expect(page.getByRole("button", { name: "Copy code" })).toBeVisible();
    await check();
    await page.getByRole("button", { name: "← Inbox" }).click();
    await expect(itemOf(page, email)).toBeVisible();
  });
}

for (const colorScheme of ["light", "dark"] as const) {
  test(`the preview of mails is accessible and fits a phone, ${colorScheme}`, async ({ page }) => {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width: 320, height: 640 });
    await page.goto("/_dev");
    await page.getByRole("main").getByRole("link", { name: "Mails" }).click();
    await expect(page.getByRole("heading", { level: 1, name: "Mails" })).toBeVisible();
    await page.getByRole("link", { name: "New password" }).click();
    await page.getByRole("link", { name: "Deutsch" }).click();
    await page.getByRole("link", { name: "375 px" }).click();
    const mail = page.frameLocator("iframe");
    await expect(mail.locator("html")).toHaveAttribute("lang", "de");
    await expect(mail.getByRole("link").first()).toBeVisible();
    // The mail is in the chosen colours, whatever those of the page are.
    const ground = () =>
      mail.locator("body").evaluate((body) => getComputedStyle(body).backgroundColor);
    const light = await ground();
    await page.getByRole("link", { name: "Dark" }).click();
    await expect.poll(ground).not.toBe(light);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(width).toBe(320);
    expect(await findViolations(page, "iframe")).toEqual([]);
  });
}
