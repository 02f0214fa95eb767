import { paths } from "../src/shared/paths.ts";
import { findViolations } from "./axe.ts";
import { expect, openWithScript, SCREENS, test } from "./shop.ts";

test.use({ contextOptions: { reducedMotion: "reduce" } });

for (const colorScheme of ["light", "dark"] as const) {
  test.describe(`in ${colorScheme} colours`, () => {
    test.use({ colorScheme });

    for (const [name, path] of Object.entries(SCREENS)) {
      test(`axe finds nothing on ${name}`, async ({ page }) => {
        await page.goto(path);
        await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
        expect(await findViolations(page)).toEqual([]);
      });
    }

    test("axe finds nothing on the router's fallback", async ({ page }) => {
      await openWithScript(page, paths.catalogue);
      await expect(page.getByRole("heading", { level: 2 })).toHaveCount(12);
      await page.route("**/assets/*.js", (route) => route.abort());
      await page.getByRole("link", { name: "Contact us" }).click();
      await expect(page.getByText("Unexpected Application Error!")).toBeVisible();
      expect(await findViolations(page)).toEqual([]);
    });

    test("axe finds nothing on a refused submission and on the confirmation", async ({ page }) => {
      await openWithScript(page, paths.submission);
      await page.getByRole("button", { name: "Submit Now" }).click();
      await expect(page.getByText("Details are required")).toBeVisible();
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("textbox").fill(`A newsletter in ${colorScheme} colours`);
      await page.getByRole("button", { name: "Submit Now" }).click();
      await expect(page.getByRole("heading", { name: "Submission Received!" })).toBeVisible();
      expect(await findViolations(page)).toEqual([]);
    });
  });
}

test("a purchase is reachable with the keyboard alone", async ({ page }) => {
  await page.goto(paths.catalogue);
  const card = page.getByRole("link", { name: "View Template: Product Promotion" });
  await tabTo(page, card);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toBeFocused();
  await tabTo(page, page.getByRole("link", { name: "Purchase Template - $64" }));
});

test("a submission is possible with the keyboard alone", async ({ page }) => {
  await page.goto(paths.catalogue);
  await tabTo(page, page.getByRole("button", { name: "Corporate" }));
  await page.keyboard.press("Space");
  await tabTo(page, page.getByRole("link", { name: "View Template: Executive Report" }));
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toBeFocused();
  await tabTo(page, page.getByRole("link", { name: "Request Custom Design - $17" }));
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Submit Your Details");
  await tabTo(page, page.getByRole("textbox"));
  await page.keyboard.type("Sent without a mouse");
  await tabTo(page, page.getByRole("button", { name: "Submit Now" }));
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Submission Received!" })).toBeFocused();
});

test("sticky bars never cover the focused element", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 700 });
  await page.goto(paths.template(1));
  const link = page.getByRole("link", { name: "Request Custom Design", exact: true });
  await tabTo(page, link);
  const covered = await link.evaluate((element) => {
    const { x, y, width, height } = element.getBoundingClientRect();
    return document.elementFromPoint(x + width / 2, y + height / 2) !== element;
  });
  expect(covered).toBe(false);
});

/** Presses Tab until the element has the focus; fails if it never gets it. */
async function tabTo(
  page: import("@playwright/test").Page,
  target: import("@playwright/test").Locator,
): Promise<void> {
  await expect(target).toBeVisible();
  for (let presses = 0; presses < 40; presses += 1) {
    await page.keyboard.press("Tab");
    if (await target.evaluate((element) => element === document.activeElement)) return;
  }
  await expect(target).toBeFocused();
}
