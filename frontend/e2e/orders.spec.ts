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

test("a receipt names the company that the buyer enters, by keyboard and without a script", async ({
  browser,
  page,
  basalt,
}) => {
  const buyer = `company-${Date.now()}@example.com`;
  await buy(page, buyer);
  const [mail] = await mailsTo(basalt.inboxUrl, buyer);
  const context = await browser.newContext({ javaScriptEnabled: false });
  const reader = await context.newPage();
  await reader.goto(mail?.text.match(/http\S+\/shop\/receipt\/\S+/)?.[0] ?? "");
  // The mail has the address of the buyer; a page, whose address stays in histories, has not.
  expect(mail?.text).toContain(`Buyer: ${buyer}`);
  await expect(reader.getByText(buyer)).toHaveCount(0);
  await reader.getByText("Add your company to this receipt").focus();
  await reader.keyboard.press("Enter");
  await reader.getByLabel("Company, address, VAT number").focus();
  await reader.keyboard.type("Mill & Co\n1 Mill Lane, Bath\nVAT GB123456789");
  await reader.keyboard.press("Tab");
  await reader.keyboard.press("Enter");
  const billed = reader.getByRole("definition").filter({ hasText: "VAT GB123456789" });
  await expect(billed).toHaveText("Mill & Co\n1 Mill Lane, Bath\nVAT GB123456789");
  await reader.emulateMedia({ media: "print" });
  await expect(billed).toBeVisible();
  await expect(reader.getByText("Add your company to this receipt")).toBeHidden();
  await expect(reader.getByRole("link", { name: "Back to Templates" })).toBeHidden();
  await context.close();
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
    await reader.goto(basalt.url);
    await reader.getByRole("link", { name: "Your downloads" }).click();
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
  test(`axe finds nothing on the page of lost links and on a receipt in ${colorScheme} colours`, async ({
    page,
    basalt,
  }) => {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width: 320, height: 640 });
    await page.goto("/orders");
    expect(await findViolations(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
    const buyer = `axe-${colorScheme}-${Date.now()}@example.com`;
    await buy(page, buyer);
    const [mail] = await mailsTo(basalt.inboxUrl, buyer);
    await page.goto(mail?.text.match(/http\S+\/shop\/receipt\/\S+/)?.[0] ?? "");
    await page.getByText("Add your company to this receipt").click();
    expect(await findViolations(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
  });
}
