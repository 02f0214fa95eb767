import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Page } from "@playwright/test";
import { findViolations } from "./axe.ts";
import { startBasalt } from "./basalt.mjs";
import { expect, mailsTo, setUp, test } from "./desk.ts";

/** Buys a template with the payment simulator. */
async function buy(page: Page, email: string): Promise<void> {
  const form = { template: "1", provider: "stripe", delivery: "once", email };
  expect((await page.request.post("/_dev/payment/pay", { form })).ok()).toBe(true);
}

test("an order is found, its link sent again and its amount refunded", async ({ page, basalt }) => {
  const buyer = `buyer-${Date.now()}@example.com`;
  await buy(page, buyer);
  await page.goto("/_desk/orders");
  await expect(page.getByRole("link", { name: buyer })).toBeVisible();
  await page.keyboard.press("/");
  await page.keyboard.type(buyer);
  await expect(page).toHaveURL(/search=/);
  await page.getByRole("link", { name: buyer }).click();
  await expect(page.getByRole("heading", { name: /^Order #/ })).toBeFocused();
  await expect(page.getByText("$28.00").first()).toBeVisible();

  const before = (await mailsTo(basalt.inboxUrl, buyer)).length;
  await page.getByRole("button", { name: "Send a new download link" }).click();
  const question = page.getByRole("dialog", { name: "Send a new download link?" });
  await expect(question.getByLabel("Send to")).toHaveValue(buyer);
  await page.getByRole("button", { name: "Send the link" }).click();
  await expect(page.getByText(/A new download link is on its way/)).toBeVisible();
  await expect(async () => {
    expect((await mailsTo(basalt.inboxUrl, buyer)).length).toBe(before + 1);
  }).toPass();

  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export" }).click();
  const saved = await saving;
  expect(saved.suggestedFilename()).toMatch(/^orders-[\d-]+\.csv$/);
  const lines = (await readFile(await saved.path(), "utf8")).trimEnd().split("\r\n");
  expect(lines[0]).toMatch(/^number,id,paid_at,/);
  expect(lines.filter((line) => line.includes(buyer))).toHaveLength(1);

  await page.getByRole("button", { name: "Refund", exact: true }).click();
  await expect(page.getByRole("dialog", { name: `Refund $28.00 to ${buyer}?` })).toBeVisible();
  await page.getByRole("button", { name: "Cancel" }).click();
  await expect(page.getByRole("button", { name: "Refund", exact: true })).toBeFocused();
  await page.getByRole("button", { name: "Refund", exact: true }).click();
  await page.getByRole("button", { name: "Refund $28.00" }).click();
  await expect(page.getByText("The amount is refunded.")).toBeVisible();
  await expect(page.getByText("$28.00, $0.00 remain paid")).toBeVisible();
  await expect(page.getByText("Refund receipt")).toBeVisible();
  await expect(page.getByText("Download link", { exact: true })).toHaveCount(3);
});

test("a mistyped address is corrected, and who got the former mail can no longer download", async ({
  page,
  basalt,
}) => {
  const [mistyped, right] = [`anna-${Date.now()}@example.com`, `anne-${Date.now()}@example.com`];
  await buy(page, mistyped);
  const [former] = await mailsTo(basalt.inboxUrl, mistyped);
  await page.goto(`/_desk/orders?search=${mistyped}`);
  await page.getByRole("link", { name: mistyped }).click();
  await page.getByRole("button", { name: "Send a new download link" }).click();
  const question = page.getByRole("dialog", { name: "Send a new download link?" });
  const address = question.getByLabel("Send to");
  await address.fill("anne");
  await page.keyboard.press("Enter");
  await expect(question.getByText("Enter an email address.")).toBeVisible();
  await address.fill(right);
  await expect(question.getByText(`instead of ${mistyped}`)).toBeVisible();
  expect(await findViolations(page)).toEqual([]);
  await page.keyboard.press("Enter");
  await expect(page.getByText("The address of the order is changed.")).toBeVisible();
  await expect(page.getByRole("article").getByRole("link", { name: right })).toBeVisible();
  for (const recipient of [mistyped, right]) {
    await expect(page.getByText(new RegExp(`^To ${recipient}`))).toBeVisible();
  }

  const [mail] = await mailsTo(basalt.inboxUrl, right);
  expect((await page.request.get(former?.link ?? "")).status()).toBe(410);
  expect((await page.request.get(mail?.link ?? "")).status()).toBe(200);
  await page.goto("/_desk/account");
  const activity = page.getByRole("list", { name: "Activity" });
  await expect(activity.getByText(/^Sent a new download link to another address: /)).toBeVisible();
});

test("orders are limited by days, which are in the address and in the export", async ({ page }) => {
  const buyer = `days-${Date.now()}@example.com`;
  await buy(page, buyer);
  const day = (offset: number) =>
    new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10);
  await page.goto("/_desk/orders");
  await page.getByRole("button", { name: "Dates" }).click();
  await page.getByLabel("First day").fill(day(1));
  await page.getByLabel("Last day").fill(day(-1));
  await page.getByRole("button", { name: "Show", exact: true }).click();
  await expect(page.getByText("The first day must not be after the last day.")).toBeVisible();
  await page.getByLabel("Last day").fill("");
  await page.getByRole("button", { name: "Show", exact: true }).click();
  await expect(page).toHaveURL(new RegExp(`from=${day(1)}$`));
  await expect(page.getByText("Nothing matches")).toBeVisible();
  expect(await findViolations(page)).toEqual([]);

  // The order may have been paid a moment before midnight.
  await page.goto(`/_desk/orders?from=${day(-1)}&to=${day(0)}`);
  await expect(page.getByLabel("First day")).toHaveValue(day(-1));
  await page.getByRole("link", { name: buyer }).click();
  await expect(page).toHaveURL(new RegExp(`from=${day(-1)}&to=${day(0)}$`));
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export" }).click();
  const saved = await readFile(await (await saving).path(), "utf8");
  expect(saved).toContain(buyer);

  await page.goto("/_desk/orders?from=2026-02-30");
  await expect(page.getByText("from must be a day, such as 2026-01-31.")).toBeVisible();
  await page.getByRole("button", { name: "All days" }).click();
  await expect(page.getByRole("link", { name: buyer })).toBeVisible();
});

test("the figures show views with a table of the same values", async ({ page }) => {
  for (let view = 0; view < 3; view += 1) await page.goto("/template/2");
  await page.goto("/_desk/figures");
  await expect(page.getByRole("heading", { name: "Views per day" })).toBeVisible();
  await page.getByRole("button", { name: "7 days" }).click();
  await expect(page).toHaveURL(/days=7/);
  await page.getByText("Show as a table").click();
  await expect(page.getByRole("region", { name: "Values per day" }).getByRole("row")).toHaveCount(
    8,
  );
  await page.getByRole("button", { name: /^Purchases/ }).click();
  await expect(page.getByRole("heading", { name: "Purchases per day" })).toBeVisible();
  await page.getByRole("button", { name: "Custom" }).click();
  await page.getByLabel("First day").fill("2026-02-01");
  await page.getByLabel("Last day").fill("2026-01-01");
  await page.getByRole("button", { name: "Show", exact: true }).click();
  await expect(page.getByText("The first day must not be after the last day.")).toBeVisible();
});

test("a payment that is held is delivered by one button", async ({ page }) => {
  const secret = "whsec_0123456789abcdef";
  const basalt = await startBasalt(
    (config) => `${config}\n[basalt.shop.payment.stripe]\nwebhook_secret = "${secret}"\n`,
  );
  try {
    await setUp(page, basalt.deskSetupUrl);
    const body = JSON.stringify({
      id: "evt_held",
      type: "checkout.session.completed",
      livemode: false,
      data: {
        object: {
          id: "cs_test_0123456789abcdef",
          payment_intent: "pi_held",
          payment_status: "paid",
          amount_total: 6300,
          currency: "usd",
          customer_details: { email: "held@example.com" },
          client_reference_id: "template-2",
        },
      },
    });
    const time = Math.floor(Date.now() / 1000);
    const signature = createHmac("sha256", secret).update(`${time}.${body}`).digest("hex");
    const stored = await fetch(`${basalt.url}/shop/webhooks/stripe`, {
      method: "POST",
      headers: { "stripe-signature": `t=${time},v1=${signature}` },
      body,
    });
    expect(await stored.text()).toBe("wrong_amount\n");
    await page.goto(`${new URL(basalt.deskSetupUrl).origin}/_desk/orders`);
    const held = page.getByRole("region", { name: "One payment was not delivered" });
    await expect(held).toContainText("is below the price of Product Promotion");
    await expect(held.getByRole("combobox")).toHaveValue("2");
    expect(await findViolations(page)).toEqual([]);
    await held.getByRole("button", { name: "Deliver" }).click();
    await expect(page.getByText("The template is delivered")).toBeVisible();
    await expect(held).toHaveCount(0);
    await expect(page.getByRole("link", { name: "held@example.com" })).toBeVisible();
    const [mail] = await mailsTo(basalt.inboxUrl, "held@example.com");
    expect(mail?.subject).toBe("Your template: Product Promotion");
  } finally {
    await basalt.stop();
  }
});

test("compact rows show 22 orders on a screen of 900 pixels", async ({ page }) => {
  for (let order = 0; order < 24; order += 1) await buy(page, `row-${order}@example.com`);
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto("/_desk/orders");
  await page.getByRole("button", { name: "Compact rows" }).click();
  const visible = () =>
    page
      .locator("[data-row]")
      .evaluateAll(
        (rows) => rows.filter((row) => row.getBoundingClientRect().bottom <= 900).length,
      );
  await expect.poll(visible).toBeGreaterThanOrEqual(22);
  await page.reload();
  await expect.poll(visible).toBeGreaterThanOrEqual(22);
  await page.getByRole("button", { name: "Compact rows" }).click();
  await expect.poll(visible).toBeLessThan(22);
});
