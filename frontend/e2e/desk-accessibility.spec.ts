import type { Page } from "@playwright/test";
import { findViolations } from "./axe.ts";
import { expect, test } from "./desk.ts";

/** What the navigation does not lead to. */
const OTHER_SCREENS = ["/submissions?status=all&from=2026-01-01", "/nowhere"];

test.use({ contextOptions: { reducedMotion: "reduce" } });

for (const colorScheme of ["light", "dark"] as const) {
  test.describe(`in ${colorScheme} colours`, () => {
    test.use({ colorScheme });

    for (const width of [375, 1440]) {
      test(`axe finds nothing on the screens of the desk at ${width} pixels`, async ({
        page,
        basalt,
      }) => {
        await page.setViewportSize({ width, height: 800 });
        await makeEntries(page, basalt.publishableKey);
        await page.goto("/_desk/submissions");
        const navigation = page.getByRole("navigation", { name: "Desk" });
        await expect(navigation).toBeVisible();
        const linked = await navigation
          .locator("a")
          .evaluateAll((links) => links.map((link) => link.getAttribute("href") ?? ""));
        expect(linked.length).toBeGreaterThan(1);
        for (const path of [...linked, ...OTHER_SCREENS.map((path) => `/_desk${path}`)]) {
          await page.goto(path);
          await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
          await expectNoViolations(page, path);
        }
        for (const list of ["submissions?status=all", "orders", "catalogue"]) {
          await page.goto(`/_desk/${list}`);
          await page.locator("[data-row]").first().click();
          await expect(page.getByRole("heading", { level: 2 }).first()).toBeFocused();
          await expectNoViolations(page, `the first of ${list}`);
        }
      });
    }

    test("axe finds nothing on the dialogs and the sign-in", async ({ page, basalt }) => {
      await makeEntries(page, basalt.publishableKey);
      await page.goto("/_desk/orders");
      await page.locator("[data-row]").first().click();
      await page.getByRole("button", { name: "Refund", exact: true }).click();
      await expectNoViolations(page, "the dialog of a refund");
      await page.keyboard.press("Escape");
      await page.keyboard.press("?");
      await expect(page.getByRole("dialog", { name: "Keyboard shortcuts" })).toBeVisible();
      await expectNoViolations(page, "the dialog of the shortcuts");
      await page.context().clearCookies();
      await page.goto("/_desk/");
      await expect(page.getByRole("heading", { name: "Sign in to the desk" })).toBeVisible();
      await expectNoViolations(page, "the sign-in");
    });
  });
}

/** Makes a submission and an order, so that both lists have a row. */
async function makeEntries(page: Page, publishableKey: string): Promise<void> {
  await page.request.post("/functions/v1/send-submission", {
    headers: { apikey: publishableKey },
    data: { description: "A card in blue: visitor@example.com" },
  });
  const order = { template: "1", provider: "stripe", delivery: "once", email: "a@example.com" };
  await page.request.post("/_dev/payment/pay", { form: order });
}

/** Fails on a violation of axe's rules, and if the page scrolls sideways. */
async function expectNoViolations(page: Page, name: string): Promise<void> {
  await page.waitForLoadState("networkidle");
  expect(await findViolations(page), name).toEqual([]);
  const overhang = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  expect(overhang, name).toBe(0);
}
