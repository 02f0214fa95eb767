import { findViolations } from "./axe.ts";
import { expect, mailsTo, test } from "./shop.ts";

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
    await expect(checkout).toHaveURL(/\/thank-you\?(session_id|tx)=[\w-]+/);
    await expect(checkout.getByRole("heading", { name: "Thank you" })).toBeVisible();
    const receipt = checkout.getByRole("region", { name: "Receipt" });
    await expect(receipt).toContainText("Professional Newsletter");
    await expect(receipt).toContainText("$28.00");
    await expect(receipt).toContainText(provider);
    expect(await findViolations(checkout)).toEqual([]);
    const direct = checkout.waitForEvent("download");
    await checkout.getByRole("link", { name: "Download the template" }).click();
    expect((await direct).suggestedFilename()).toMatch(/^01.*\.zip$/);
    await checkout.getByRole("link", { name: "Print this receipt or save it as a PDF" }).click();
    await expect(checkout.getByRole("heading", { level: 1, name: "Receipt" })).toBeVisible();
    await expect(checkout.getByText("$28.00")).toBeVisible();
    expect(await findViolations(checkout)).toEqual([]);
    await checkout.emulateMedia({ media: "print", colorScheme: "dark" });
    await expect(checkout.getByText("$28.00")).toBeVisible();
    await expect(checkout.getByText("Ctrl + P")).toBeHidden();
    await expect(checkout.getByRole("link", { name: "Back to Templates" })).toBeHidden();
    await expect(checkout.locator("body")).toHaveCSS("background-color", "rgb(255, 255, 255)");
    await checkout.emulateMedia({ media: null, colorScheme: null });
    const loadedFamilies = () =>
      checkout.evaluate(() =>
        [...document.fonts].filter(({ status }) => status === "loaded").map(({ family }) => family),
      );
    await expect.poll(loadedFamilies).toEqual(expect.arrayContaining(["Besley", "Libre Franklin"]));

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
    await expect(checkout.getByRole("heading", { name: "This order was refunded" })).toBeVisible();
    await checkout.close();
  }
});

test("repeated, stale and forged events deliver nothing", async ({ page, basalt }) => {
  await page.goto("/_dev/payment?template=2");
  for (const [delivery, answer] of [
    ["Twice", "200 ordered, then 200 repeated"],
    ["Signed a week ago", "401 stale"],
    ["With a wrong signature", "401 forged"],
  ] as const) {
    await page.getByLabel("E-mail address of the buyer").fill("once@example.com");
    await page.getByLabel("Provider").selectOption("Stripe");
    await page.locator("#delivery").selectOption(delivery);
    await page.getByRole("button", { name: "Pay", exact: true }).click();
    await expect(page.getByRole("status")).toHaveText(`The shop answered: ${answer}`);
  }
  expect(await mailsTo(basalt.inboxUrl, "once@example.com")).toHaveLength(1);
});

for (const colorScheme of ["light", "dark"] as const) {
  test(`axe finds nothing on the pages of payments in ${colorScheme} colours`, async ({
    page,
    basalt,
  }) => {
    await page.emulateMedia({ colorScheme });
    await page.request.post("/_dev/payment/pay", {
      form: {
        template: "1",
        provider: "stripe",
        delivery: "once",
        email: `${colorScheme}@example.com`,
      },
    });
    for (const path of ["/thank-you", "/shop/download/unknown", "/_dev/payment"]) {
      await page.setViewportSize({ width: 375, height: 700 });
      await page.goto(`${basalt.url}${path}`);
      await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
      expect(await findViolations(page), path).toEqual([]);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(width, path).toBe(375);
    }
  });
}
