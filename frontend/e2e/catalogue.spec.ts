import { paths } from "../src/shared/paths.ts";
import { expect, openWithScript, startProgram, test } from "./shop.ts";

test.beforeEach(async ({ page }) => {
  await openWithScript(page, paths.catalogue);
  await expect(page.getByRole("heading", { level: 2 })).toHaveCount(12);
});

test("shows the twelve templates under its title", async ({ page }) => {
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(
    "Email Templates & Custom Designs",
  );
  await expect(page.getByRole("listitem").filter({ has: page.getByRole("heading") })).toHaveCount(
    12,
  );
});

test("shows on each card picture, category, title, price, text, features and a button", async ({
  page,
}) => {
  const card = page.getByRole("listitem").filter({
    has: page.getByRole("heading", { name: "Order Confirmation" }),
  });
  await card.scrollIntoViewIfNeeded();
  await expect(card.getByRole("img")).toHaveAttribute("alt", /\S/);
  await expect(card.getByText("E-commerce", { exact: true })).toBeVisible();
  await expect(card.getByText("$1250")).toBeVisible();
  await expect(card.getByText("Features", { exact: true })).toBeVisible();
  await expect(card.getByRole("listitem")).toHaveCount(5);
  await expect(card.getByRole("link", { name: "View Template" })).toHaveText("View Template");
});

test("shows every picture, none broken", async ({ page }) => {
  const pictures = page.getByRole("main").getByRole("img");
  await expect(pictures).toHaveCount(12);
  for (const picture of await pictures.all()) {
    await picture.scrollIntoViewIfNeeded();
    await expect
      .poll(() =>
        picture.evaluate((image: HTMLImageElement) => image.complete && image.naturalWidth),
      )
      .toBeGreaterThan(200);
  }
});

test("opens a template from anywhere on its card", async ({ page }) => {
  // The link of the card covers the heading, so the click is at its position and not on it.
  await page.getByRole("heading", { name: "Welcome Series" }).click({ force: true });
  await expect(page).toHaveURL(paths.template(3));
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Welcome Series");
});

test("filters by category, writes it into the URL, and announces the number of templates", async ({
  page,
}) => {
  await page.getByRole("button", { name: "Corporate" }).click();
  await expect(page).toHaveURL(`${paths.catalogue}?category=Corporate`);
  await expect(page.getByRole("heading", { level: 2 })).toHaveText([
    "Company Announcement",
    "Executive Report",
    "Quarterly Update",
    "Policy Notification",
    "Board Meeting Invitation",
  ]);
  await expect(page.getByRole("status")).toHaveText("Showing 5 of 12 templates: Corporate");
  await expect(page.getByRole("button", { name: "Corporate" })).toHaveAttribute(
    "aria-pressed",
    "true",
  );
  await expect(page.getByRole("button", { pressed: true })).toHaveCount(1);
});

test("has one filter per category and 'All', which clears it", async ({ page }) => {
  const filters = page.getByRole("group", { name: "Filter by category" }).getByRole("button");
  await expect(filters).toHaveText([
    "All",
    "Newsletter",
    "Marketing",
    "Onboarding",
    "Corporate",
    "Events",
    "E-commerce",
    "Research",
    "Seasonal",
  ]);
  await filters.filter({ hasText: "Events" }).click();
  await expect(page.getByRole("heading", { level: 2 })).toHaveText(["Event Invitation"]);
  await filters.filter({ hasText: "All" }).click();
  await expect(page).toHaveURL(paths.catalogue);
  await expect(page.getByRole("heading", { level: 2 })).toHaveCount(12);
});

test("restores the filter on back navigation, also from a template", async ({ page }) => {
  await page.getByRole("button", { name: "Research" }).click();
  await page.getByRole("link", { name: "View Template: Survey & Feedback" }).click();
  await expect(page).toHaveURL(paths.template(7));
  await page.goBack();
  await expect(page).toHaveURL(`${paths.catalogue}?category=Research`);
  await expect(page.getByRole("heading", { level: 2 })).toHaveCount(1);
  await page.goBack();
  await expect(page).toHaveURL(paths.catalogue);
  await expect(page.getByRole("heading", { level: 2 })).toHaveCount(12);
});

test("'Back to Templates' restores filter and scroll position without the entrance", async ({
  page,
}) => {
  await page.getByRole("button", { name: "Corporate" }).click();
  await expect(page.getByRole("heading", { level: 2 })).toHaveCount(5);
  await page
    .getByRole("link", { name: "View Template: Board Meeting Invitation" })
    .scrollIntoViewIfNeeded();
  const before = await page.evaluate(() => scrollY);
  expect(before).toBeGreaterThan(100);
  await page.getByRole("link", { name: "View Template: Board Meeting Invitation" }).click();
  await expect(page).toHaveURL(paths.template(12));
  await page.getByRole("link", { name: "Back to Templates" }).click();
  await expect(page).toHaveURL(`${paths.catalogue}?category=Corporate`);
  await expect.poll(() => page.evaluate(() => scrollY)).toBe(before);
  const names = await page
    .locator("main > ul > li")
    .evaluateAll((cards) => cards.map((card) => getComputedStyle(card).animationName));
  expect(new Set(names)).toEqual(new Set(["none"]));
});

test("the filter row stays where it is when few cards are left", async ({ page }) => {
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.evaluate(() => scrollTo(0, 250));
  const row = page.getByRole("group", { name: "Filter by category" });
  const before = await row.boundingBox();
  // A click by the driver would scroll first.
  const button = await page.getByRole("button", { name: "Events" }).boundingBox();
  await page.mouse.click((button?.x ?? 0) + 10, (button?.y ?? 0) + 10);
  await expect(page.getByRole("heading", { level: 2 })).toHaveCount(1);
  expect((await row.boundingBox())?.y).toBe(before?.y);
  const card = await page.locator("main > ul > li").boundingBox();
  expect(card?.width, "an only card is no narrow column").toBeGreaterThan(800);
});

test("summaries fit two lines at every width", async ({ page }) => {
  for (const width of [320, 390, 700, 1100, 1280, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    const lines = await page.locator("main > ul > li h2 + p").evaluateAll((all) =>
      all.map((text) => {
        const range = document.createRange();
        range.selectNodeContents(text);
        return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
      }),
    );
    expect(Math.max(...lines), `at ${width} px`).toBeLessThanOrEqual(2);
  }
});

test("a broken picture is replaced by a drawing", async ({ page }) => {
  await page.route("**/assets/0*-card-*", (route) => route.abort());
  await page.reload();
  await startProgram(page);
  const card = page.getByRole("listitem").filter({
    has: page.getByRole("heading", { name: "Professional Newsletter" }),
  });
  await expect(card.getByRole("img", { name: /^Newsletter on cream paper/ })).toBeVisible();
  await expect(card.locator("img")).toHaveCount(0);
});

test("opens with the filter of the URL", async ({ page }) => {
  await page.goto(`${paths.catalogue}?category=E-commerce`);
  await expect(page.getByRole("heading", { level: 2 })).toHaveText(["Order Confirmation"]);
});

test("ends with the link for sellers and four selling points", async ({ page }) => {
  const footer = page.getByRole("contentinfo");
  await expect(footer).toContainText(
    "Ready to add your PayPal payment links? Contact us to integrate your payment system.",
  );
  await expect(footer.getByRole("listitem")).toHaveText([
    "Professional design",
    "Mobile responsive",
    "Easy customization",
    "PayPal integration ready",
  ]);
});

for (const [width, columns] of [
  [390, 1],
  [700, 2],
  [1100, 3],
  [1440, 4],
] as const) {
  test(`shows ${columns} columns at ${width} px`, async ({ page }) => {
    await page.setViewportSize({ width, height: 900 });
    const cards = page.getByRole("heading", { level: 2 });
    const lefts = await cards.evaluateAll((all) =>
      all.map((card) => card.getBoundingClientRect().x),
    );
    expect(new Set(lefts.map(Math.round)).size).toBe(columns);
  });
}

test("shows title, intro, filters and the first picture on a phone without scrolling", async ({
  page,
}) => {
  await page.setViewportSize({ width: 390, height: 700 });
  await expect(page.getByRole("button", { name: "All" })).toBeInViewport({ ratio: 1 });
  await expect(page.getByRole("img").first()).toBeInViewport({ ratio: 0.3 });
});
