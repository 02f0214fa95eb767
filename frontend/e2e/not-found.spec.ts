import { paths } from "../src/shared/paths.ts";
import { consoleErrors, expect, openWithScript, test } from "./shop.ts";

test("an unknown path answers 404, shows it, and logs the path", async ({ page }) => {
  const errors = consoleErrors(page);
  const answer = await page.goto("/no/such/page");
  expect(answer?.status()).toBe(404);
  await expect(page.getByText("404", { exact: true })).toBeVisible();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Oops! Page not found");
  await expect.poll(() => errors.join()).toContain("404: nothing at this path: /no/such/page");
  await expect(page.locator('meta[name="robots"]')).toHaveAttribute("content", "noindex");
  await page.getByRole("link", { name: "Return to Home" }).click();
  await expect(page).toHaveURL(paths.catalogue);
  await expect(page.locator('meta[name="robots"]')).toHaveCount(0);
});

for (const id of ["0", "13", "01", "1.5", "abc", "-1"]) {
  test(`/template/${id} answers 404 and links back to the templates`, async ({ page }) => {
    const answer = await page.goto(`/template/${id}`);
    expect(answer?.status()).toBe(404);
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Template Not Found");
    await page.getByRole("link", { name: "Back to Templates" }).click();
    await expect(page).toHaveURL(paths.catalogue);
  });
}

for (const path of [
  paths.catalogue,
  paths.submission,
  paths.template(1),
  paths.template(12),
  `${paths.catalogue}?category=Events`,
]) {
  test(`${path} answers 200`, async ({ page }) => {
    expect((await page.goto(path))?.status()).toBe(200);
  });
}

test("a screen that cannot be loaded shows the router's fallback", async ({ page }) => {
  await openWithScript(page, paths.catalogue);
  await expect(page.getByRole("heading", { level: 2 })).toHaveCount(12);
  // This happens when the connection fails, or when a tab stays open during an upgrade.
  await page.route("**/assets/*.js", (route) => route.abort());
  await page.getByRole("link", { name: "Contact us" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Unexpected Application Error!");
  await page.unroute("**/assets/*.js");
  await page.getByRole("link", { name: "Return to Home" }).click();
  await expect(page.getByRole("heading", { level: 2 })).toHaveCount(12);
});
