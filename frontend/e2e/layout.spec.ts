import { paths } from "../src/shared/paths.ts";
import { expect, SCREENS, startProgram, test } from "./shop.ts";

const WIDTHS = [320, 360, 390, 480, 640, 768, 820, 1024, 1280, 1440, 1920, 2560];

for (const [name, path] of Object.entries(SCREENS)) {
  test(`${name} never scrolls horizontally`, async ({ page }) => {
    await page.goto(path);
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 });
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      expect(overflow, `at ${width} px`).toBe(0);
    }
  });
}

test("cards appear one after another, 0.1 s apart, once", async ({ page }) => {
  await page.goto(paths.catalogue);
  const cards = page.locator("main > ul > li");
  await expect(cards).toHaveCount(12);
  const entrance = await cards.evaluateAll((all) =>
    all.map((card) => {
      const { animationName, animationDelay, animationDuration } = getComputedStyle(card);
      return [animationName, Math.round(Number.parseFloat(animationDelay) * 10), animationDuration];
    }),
  );
  expect(entrance).toEqual(entrance.map((_, turn) => ["hang", turn, "0.3s"]));

  await startProgram(page);
  await page.getByRole("button", { name: "Corporate" }).click();
  await expect(cards).toHaveCount(5);
  await page.getByRole("button", { name: "All" }).click();
  await expect(cards).toHaveCount(12);
  await expect(cards.last()).toHaveCSS("animation-delay", "0s");
});

test("nothing moves with reduced motion", async ({ page }) => {
  await page.emulateMedia({ reducedMotion: "reduce" });
  await page.goto(paths.catalogue);
  const cards = page.locator("main > ul > li");
  await expect(cards).toHaveCount(12);
  const animations = await cards.evaluateAll((all) =>
    all.map((card) => getComputedStyle(card).animationName),
  );
  expect(new Set(animations)).toEqual(new Set(["none"]));
  await expect(cards.last()).toHaveCSS("opacity", "1");
});

test("the pressed filter is distinguishable in forced colours", async ({ page }) => {
  await page.emulateMedia({ forcedColors: "active" });
  await page.goto(paths.catalogue);
  const background = (name: string) =>
    page
      .getByRole("button", { name })
      .evaluate((button) => getComputedStyle(button).backgroundColor);
  expect(await background("All")).not.toBe(await background("Events"));
});
