import { expect, mailsTo, test } from "./orders.ts";

const PROVIDERS = ["Stripe", "PayPal", "Lemon Squeezy"];

test("a purchase leads to a mail with the file, and a refund ends its link", async ({
  page,
  context,
  basalt,
}) => {
  for (const provider of PROVIDERS) {
    const buyer = `${provider.replace(" ", "").toLowerCase()}@example.com`;
    await page.goto("/template/1");
    const opened = context.waitForEvent("page");
    await page.getByRole("link", { name: "Purchase Template - $28" }).click();
    const checkout = await opened;
    await expect(checkout.getByRole("heading", { name: "Payment simulator" })).toBeVisible();
    await expect(checkout.getByLabel("Template")).toHaveValue("1");
    await checkout.getByLabel("E-mail address of the buyer").fill(buyer);
    await checkout.getByLabel("Provider").selectOption(provider);
    await checkout.getByRole("button", { name: "Pay", exact: true }).click();
    await expect(checkout).toHaveURL(/\/thank-you$/);
    await expect(checkout.getByRole("heading", { name: "Thank you" })).toBeVisible();
    await expect(checkout.getByText("a mail with the download link")).toBeVisible();

    const [mail] = await mailsTo(basalt.inboxUrl, buyer);
    expect(mail?.subject).toBe("Your template: Professional Newsletter");
    const downloading = checkout.waitForEvent("download");
    await checkout.evaluate((link) => location.assign(link), mail?.link ?? "");
    expect((await downloading).suggestedFilename()).toMatch(/^01.*\.zip$/);

    await checkout.goto("/_dev/payment");
    await checkout
      .getByRole("button", { name: /^Refund No\./ })
      .first()
      .click();
    await expect(checkout.getByRole("status")).toHaveText("The shop answered: 200 refunded");
    const ended = await checkout.goto(mail?.link ?? "");
    expect(ended?.status()).toBe(410);
    await expect(checkout.getByRole("heading", { name: "This link has ended" })).toBeVisible();
    await checkout.close();
  }
});

test("repeated, stale and forged events deliver nothing", async ({ page, basalt }) => {
  await page.goto("/_dev/payment?template=2");
  for (const [delivery, answer] of [
    ["twice", "200 ordered, then 200 repeated"],
    ["signed a week ago", "401 stale"],
    ["with a wrong signature", "401 forged"],
  ] as const) {
    await page.getByLabel("E-mail address of the buyer").fill("once@example.com");
    await page.getByLabel("Provider").selectOption("Stripe");
    await page.locator("#delivery").selectOption(delivery);
    await page.getByRole("button", { name: "Pay", exact: true }).click();
    await expect(page.getByRole("status")).toHaveText(`The shop answered: ${answer}`);
  }
  expect(await mailsTo(basalt.inboxUrl, "once@example.com")).toHaveLength(1);
});
