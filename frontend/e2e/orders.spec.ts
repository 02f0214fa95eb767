import type { Page } from "@playwright/test";
import { findViolations } from "./axe.ts";
import { expect, mailsTo, test } from "./shop.ts";

/** Buys a template with the payment simulator. */
async function buy(page: Page, email: string, locale = "en"): Promise<void> {
  const form = { template: "1", provider: "stripe", delivery: "once", email, locale };
  expect((await page.request.post("/_dev/payment/pay", { form })).ok()).toBe(true);
}

test("the mail of an order is a receipt", async ({ page, basalt }) => {
  const buyer = `receipt-${Date.now()}@example.com`;
  await buy(page, buyer);
  const [mail] = await mailsTo(basalt.inboxUrl, buyer);
  for (const part of [mail?.text ?? "", mail?.html ?? ""]) {
    expect(part).toMatch(/#\d+/);
    for (const value of ["Receipt", "Email Templates", "$28.00", "Stripe", "Licence"]) {
      expect(part).toContain(value);
    }
    expect(part).toContain(`${basalt.url}/orders`);
    expect(part).not.toContain("{order-number}");
  }
  const german = `beleg-${Date.now()}@example.com`;
  await buy(page, german, "de");
  const [beleg] = await mailsTo(basalt.inboxUrl, german);
  expect(beleg?.text).toContain("Beleg");
});

test("a refund is mailed to the buyer", async ({ page, basalt }) => {
  const buyer = `refund-${Date.now()}@example.com`;
  await buy(page, buyer);
  await page.goto("/_dev/payment");
  await page
    .getByRole("listitem")
    .filter({ hasText: buyer })
    .getByRole("button", { name: /^Refund No\./ })
    .click();
  await expect(page.getByRole("status")).toHaveText("The shop answered: 200 refunded");
  await expect(async () => {
    const subjects = (await mailsTo(basalt.inboxUrl, buyer)).map(({ subject }) => subject);
    expect(subjects).toContain("Refund of Professional Newsletter");
  }).toPass();
});

test("a buyer asks for links by address, and nobody learns whether there are orders", async ({
  browser,
  page,
  basalt,
}) => {
  const buyer = `lost-${Date.now()}@example.com`;
  await buy(page, buyer);
  expect(await mailsTo(basalt.inboxUrl, buyer)).toHaveLength(1);
  const context = await browser.newContext({ javaScriptEnabled: false });
  const reader = await context.newPage();
  const answers: string[] = [];
  for (const address of [buyer, `nobody-${Date.now()}@example.com`]) {
    await reader.goto(`${basalt.url}/orders`);
    await expect(reader.getByRole("heading", { level: 1 })).toHaveText("Your downloads");
    await reader.getByLabel("Email address").fill(address);
    await reader.getByRole("button", { name: "Send my links" }).click();
    await expect(reader.getByRole("heading", { level: 1 })).toHaveText("Look into your mailbox");
    answers.push((await reader.locator("main").textContent()) ?? "");
  }
  expect(answers[0]).toBe(answers[1]);
  // A link was mailed a moment ago: it is not sent again within ten minutes.
  expect(await mailsTo(basalt.inboxUrl, buyer)).toHaveLength(1);
  await context.close();
});

for (const colorScheme of ["light", "dark"] as const) {
  test(`axe finds nothing on the page of lost links in ${colorScheme} colours`, async ({
    page,
  }) => {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width: 320, height: 640 });
    await page.goto("/orders");
    expect(await findViolations(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
  });
}
