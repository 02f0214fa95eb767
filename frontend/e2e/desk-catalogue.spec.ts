import type { Page } from "@playwright/test";
import { findViolations } from "./axe.ts";
import { expect, test } from "./desk.ts";

test.use({ contextOptions: { reducedMotion: "reduce" } });

/** Opens a template at the desk. */
async function openTemplate(page: Page, id: number): Promise<void> {
  await page.goto(`/_desk/catalogue/${id}`);
  await expect(page.getByRole("button", { name: "Save changes" })).toBeVisible();
}

async function save(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Save changes" }).click();
  await expect(page.getByText("Saved. The shop shows it now.")).toBeVisible();
}

test("a change is shown in the shop at once, and undone", async ({ page, context }) => {
  const shop = await context.newPage();
  await shop.goto("/template/4");
  const words = await shop.getByRole("main").textContent();

  await page.goto("/_desk/catalogue");
  await page.getByRole("link", { name: /Company Announcement/ }).click();
  await expect(page.getByRole("heading", { name: "Company Announcement" })).toBeFocused();
  await page.getByLabel("Title").fill("Town Crier");
  await page.getByLabel("Price").fill("$720.50");
  await page.getByLabel("Payment link").fill("https://buy.stripe.com/crier");
  await expect(page.getByText("Not saved yet.")).toBeVisible();
  await save(page);
  await expect(page.getByRole("heading", { name: "Town Crier" })).toBeVisible();
  await shop.reload();
  await expect(shop.getByRole("heading", { name: "Town Crier" })).toBeVisible();
  await expect(shop.getByRole("link", { name: /Purchase Template - \$720\.50/ })).toHaveAttribute(
    "href",
    "https://buy.stripe.com/crier",
  );
  await shop.goto("/");
  await expect(shop.getByRole("heading", { name: "Town Crier" })).toBeVisible();

  await page.getByRole("button", { name: "Undo", exact: true }).click();
  await expect(page.getByRole("heading", { name: "Company Announcement" })).toBeVisible();
  await expect(page.getByText("Title: “Town Crier” became “Company Announcement”")).toBeVisible();
  await shop.goto("/template/4");
  expect(await shop.getByRole("main").textContent()).toBe(words);
});

test("a hidden template is not found until the change is undone", async ({ page }) => {
  await openTemplate(page, 8);
  await page.getByLabel("Visible in the shop").uncheck();
  await save(page);
  expect((await page.request.get("/template/8")).status()).toBe(404);
  await page.getByRole("button", { name: "Undo change 1" }).click();
  await expect(page.getByText("Visibility: hidden became visible")).toBeVisible();
  expect((await page.request.get("/template/8")).status()).toBe(200);
});

test("the second of two owners is told and loses nothing", async ({ page, context }) => {
  const other = await context.newPage();
  await openTemplate(page, 5);
  await openTemplate(other, 5);
  await page.getByLabel("Title").fill("Garden Party");
  await page.getByLabel("Summary").fill("With a map of the garden.");
  await other.getByLabel("Title").fill("Summer Fair");
  await other.getByLabel("Price").fill("$990");
  await save(other);

  await page.getByRole("button", { name: "Save changes" }).click();
  await expect(
    page.getByText(/The template was changed by owner-.* since you opened it/),
  ).toBeVisible();
  await expect(page.getByText(/has changed this to “Summer Fair”/)).toBeVisible();
  await expect(page.getByLabel("Title")).toHaveValue("Garden Party");
  await expect(page.getByLabel("Price")).toHaveValue("$990");
  expect(await findViolations(page)).toEqual([]);
  await page.getByRole("button", { name: "Use that for Title" }).click();
  await expect(page.getByLabel("Title")).toHaveValue("Summer Fair");
  await save(page);
  await page.goto("/template/5");
  await expect(page.getByRole("heading", { name: "Summer Fair" })).toBeVisible();
});

test("what is typed stays on the page, and what cannot be used is named", async ({ page }) => {
  await openTemplate(page, 6);
  await page.getByLabel("Price").fill("1250");
  await page.getByLabel("Features").fill("One\nTwo");
  await page.getByRole("button", { name: "Save changes" }).click();
  await expect(page.getByLabel("Price")).toBeFocused();
  await expect(page.getByLabel("Price")).toHaveAttribute("aria-invalid", "true");
  await expect(page.getByText("Enter 5 different features, one in each line.")).toBeVisible();
  await page.getByRole("link", { name: "Orders" }).first().click();
  await expect(page.getByRole("heading", { name: "Orders" })).toBeVisible();
  await page.goBack();
  await expect(page.getByLabel("Price")).toHaveValue("1250");
  await page.getByRole("button", { name: "Discard" }).click();
  await expect(page.getByLabel("Price")).toHaveValue("$1250");
});

test("each template has its picture, and the keys of lists move to it", async ({ page }) => {
  await page.goto("/_desk/catalogue");
  const pictures = page.getByRole("main").locator("img");
  await expect(pictures).toHaveCount(12);
  const widths = () =>
    pictures.evaluateAll((all) => all.map((picture) => (picture as HTMLImageElement).naturalWidth));
  await expect.poll(widths).toEqual(Array.from({ length: 12 }, () => 800));
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Product Promotion" })).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("link", { name: /Product Promotion/ })).toBeFocused();
});
