import { paths } from "../src/shared/paths.ts";
import { findViolations } from "./axe.ts";
import { startBasalt } from "./basalt.mjs";
import { expect, SCREENS, test as shopTest, startProgram } from "./shop.ts";

const SELLER = `
[basalt.shop.seller]
name = "Paper & Post <Ltd>"
address = "1 Mill Lane, Bath"
email = "help@paper.example"
terms = "legal/terms.md"
privacy = "legal/privacy.md"
refunds = "legal/refunds.md"
`;
const FILES = {
  "legal/terms.md":
    "# Terms of sale\n\n## What you buy\n\nA licence, [refunded](/refunds) within 30 days.\n\n<script>window.ran = true</script>\n\n| Term | Days |\n|---|---|\n| Refund | 30 |\n",
  "legal/privacy.md": "We keep what an order needs.\n",
  "legal/refunds.md": "# Refunds\n\nWithin 30 days, by [mail](mailto:help@paper.example).\n",
};

/** The binary with a seller. */
const test = shopTest.extend({
  basalt: [
    async ({ browserName: _ }, use) => {
      const basalt = await startBasalt((config) => config + SELLER, FILES);
      await use(basalt);
      await basalt.stop();
    },
    { scope: "worker", timeout: 180_000 },
  ],
});

for (const [name, path] of Object.entries(SCREENS)) {
  test(`${name} names the seller, with and without a script`, async ({ page, browser, basalt }) => {
    const errors: string[] = [];
    page.on("console", (message) => {
      if (/rendered again|stays a document/.test(message.text())) errors.push(message.text());
    });
    await page.goto(path);
    const seller = page.getByRole("region", { name: "Seller" });
    await expect(seller).toContainText("Paper & Post <Ltd>, 1 Mill Lane, Bath");
    await expect(seller.getByRole("link")).toHaveText([
      "help@paper.example",
      "Terms",
      "Privacy",
      "Refunds",
    ]);
    await startProgram(page);
    await page.waitForLoadState("networkidle");
    expect(errors).toEqual([]);
    expect(await findViolations(page)).toEqual([]);
    const plain = await browser.newPage({ javaScriptEnabled: false });
    await plain.goto(`${basalt.url}${path}`);
    await expect(plain.getByRole("region", { name: "Seller" })).toContainText("1 Mill Lane, Bath");
    await plain.close();
  });
}

for (const colorScheme of ["light", "dark"] as const) {
  test(`the owner's terms are a page in ${colorScheme} colours, and their HTML is text`, async ({
    page,
  }) => {
    await page.emulateMedia({ colorScheme });
    await page.goto(paths.catalogue);
    await page.getByRole("link", { name: "Terms" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Terms of sale");
    await expect(page.getByText("<script>window.ran = true</script>")).toBeVisible();
    expect(await page.evaluate(() => "ran" in window)).toBe(false);
    await expect(page.getByRole("cell", { name: "30" })).toBeVisible();
    expect(await findViolations(page)).toEqual([]);
    await page.setViewportSize({ width: 320, height: 640 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(
      320,
    );
    await page.getByRole("main").getByRole("link", { name: "refunded" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Refunds");
    expect((await page.request.get("/privacy/")).url()).toMatch(/\/privacy$/);
    expect(await (await page.request.get("/sitemap.xml")).text()).toContain("/privacy</loc>");
  });
}

shopTest("a shop without a seller has neither section nor pages", async ({ page }) => {
  const response = await page.goto("/terms");
  expect(response?.status()).toBe(404);
  await expect(page.getByRole("region", { name: "Seller" })).toHaveCount(0);
});
