import { paths } from "../src/shared/paths.ts";
import { expect, openWithScript, startProgram, test } from "./shop.ts";

const INCLUDED = [
  "HTML & CSS source files",
  "Responsive design for all devices",
  "Easy customization guide",
  "Compatible with all major email platforms",
  "Lifetime updates and support",
];

test("sells a template that has a payment link, in a new tab", async ({ page }) => {
  await page.goto(paths.template(5));
  const purchase = page.getByRole("link", { name: "Purchase Template - $1000" });
  await expect(purchase).toHaveAttribute("href", /^\/_dev\/payment\?template=\d+$/);
  await expect(purchase).toHaveAttribute("target", "_blank");
  await expect(purchase).toHaveAttribute("rel", /noopener/);
  for (const note of [
    "Secure payment via PayPal",
    "Instant download after purchase",
    "30-day money-back guarantee",
  ]) {
    await expect(page.getByText(note)).toBeVisible();
  }
});

test("links to the submission form where there is no payment link", async ({ page }) => {
  await page.goto(paths.template(12));
  await expect(
    page.getByText(
      "This template requires custom development. Submit your requirements for a personalized quote.",
    ),
  ).toBeVisible();
  for (const note of [
    "Custom design tailored to the brand",
    "Personal consultation included",
    "Satisfaction guaranteed",
  ]) {
    await expect(page.getByText(note)).toBeVisible();
  }
  await page.getByRole("link", { name: "Request Custom Design - $910" }).click();
  await expect(page).toHaveURL(paths.request(12));
});

test("shows all texts of a template", async ({ page }) => {
  await page.goto(paths.template(1));
  await expect(page).toHaveTitle(
    "Professional Newsletter - Professional Email Templates | Custom Email Designs That Convert",
  );
  await expect(page.getByRole("banner")).toContainText("Newsletter");
  await expect(page.getByRole("banner")).toContainText("(4.9)");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Professional Newsletter");
  for (const text of ["$28", "One-time purchase", "Instant download"]) {
    await expect(page.getByText(text, { exact: true })).toBeVisible();
  }
  const features = section(page, "Key Features");
  await expect(features).toHaveCount(5);
  await expect(section(page, "What's Included")).toHaveText(INCLUDED);
  await expect(section(page, "Worth opening every time")).toHaveCount(3);
  for (const text of ["1000+", "Happy customers", "4.9★", "Average rating", "24/7", "Support"]) {
    await expect(page.getByText(text, { exact: true })).toBeVisible();
  }
  await page.getByRole("link", { name: "Request Custom Design", exact: true }).click();
  await expect(page).toHaveURL(paths.submission);
});

test("shows the general texts for categories without specific ones", async ({ page }) => {
  for (const id of [7, 8]) {
    await page.goto(paths.template(id));
    await expect(section(page, "Made for the moment it is sent")).toHaveCount(3);
  }
});

test("links back to the catalogue", async ({ page }) => {
  await page.goto(paths.template(2));
  // A click before the program runs loads the whole page, which moves no focus.
  await startProgram(page);
  await page.getByRole("link", { name: "Back to Templates" }).click();
  await expect(page).toHaveURL(paths.catalogue);
  await expect(page.getByRole("heading", { level: 1 })).toBeFocused();
});

for (const [width, height] of [
  [1280, 720],
  [1366, 768],
  [1024, 768],
] as const) {
  test(`shows title, price and button at ${width} × ${height} without scrolling`, async ({
    page,
  }) => {
    await page.setViewportSize({ width, height });
    for (const id of [1, 12]) {
      await page.goto(paths.template(id));
      const button = page.getByRole("link", {
        name: /^(Purchase Template|Request Custom Design) - /,
      });
      await expect(button).toBeInViewport({ ratio: 1 });
      await expect(page.getByRole("heading", { level: 1 })).toBeInViewport({ ratio: 1 });
      await expect(page.getByText("One-time purchase")).toBeInViewport({ ratio: 1 });
    }
  });
}

for (const id of [1, 3, 6, 8]) {
  test(`the first click on a tab of template ${id} is taken`, async ({ page }) => {
    for (const name of ["Dark", "Phone", "Windows"]) {
      await page.goto(paths.template(id));
      const tab = page.getByRole("tab", { name, exact: true });
      await tab.click();
      await expect(tab).toHaveAttribute("aria-selected", "true");
      await expect(page.getByRole("tabpanel", { name, exact: true })).toBeVisible();
      await startProgram(page);
      await expect(tab).toHaveAttribute("aria-selected", "true");
    }
  });

  test(`the first click on the button of template ${id} shows the whole e-mail`, async ({
    page,
  }) => {
    await page.goto(paths.template(id));
    await page.getByText("See the whole email").click();
    await startProgram(page);
    await expect(page.getByText("Show less")).toBeVisible();
  });
}

test("shows the whole e-mail on request, also without a script", async ({ page }) => {
  await page.setViewportSize({ width: 1280, height: 720 });
  await page.goto(paths.template(1));
  const frame = page.getByRole("img").first().locator("xpath=ancestor::div[1]");
  const cropped = await frame.evaluate((element) => element.clientHeight);
  await page.getByText("See the whole email").click();
  await expect
    .poll(() => frame.evaluate((element) => element.clientHeight))
    .toBeGreaterThan(cropped * 2);
  const included = page.getByRole("heading", { name: "What's Included" });
  await page.getByText("Show less").click();
  expect((await included.boundingBox())?.y).toBeLessThan(1000);
});

test("shows price, button and notes on the first screen of a phone", async ({ page }) => {
  await page.setViewportSize({ width: 375, height: 667 });
  await page.goto(paths.template(2));
  await expect(page.getByText("$64", { exact: true })).toBeInViewport({ ratio: 1 });
  await expect(page.getByText("30-day money-back guarantee")).toBeInViewport({ ratio: 1 });
});

test("shows an e-mail 600 pixels wide, as mailboxes do, where the screen has room", async ({
  page,
}) => {
  for (const width of [820, 1280, 1440, 1920]) {
    await page.setViewportSize({ width, height: 900 });
    await page.goto(paths.template(2));
    const picture = page.getByRole("tabpanel").getByRole("img");
    await expect(picture).toHaveCSS("width", "600px");
    await page.getByRole("tab", { name: "Phone" }).click();
    await expect(picture).toHaveCSS("width", "376px");
  }
});

test("has a purchase bar of at most 72 pixels on phones", async ({ page }) => {
  for (const [width, id] of [
    [320, 9],
    [375, 2],
  ] as const) {
    await page.setViewportSize({ width, height: 700 });
    await page.goto(paths.template(id));
    const button = page.getByRole("link", {
      name: /^(Purchase Template|Request Custom Design) - /,
    });
    const bar = await button.locator("xpath=..").boundingBox();
    expect(bar?.height, `${width} pixels`).toBeLessThanOrEqual(72);
    expect((bar?.y ?? 0) + (bar?.height ?? 0)).toBe(700);
  }
});

test("keeps the purchase button visible on narrow screens", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 700 });
  await page.goto(paths.template(2));
  const purchase = page.getByRole("link", { name: "Purchase Template - $64" });
  await expect(purchase).toBeInViewport({ ratio: 1 });
  const box = await purchase.boundingBox();
  expect(box?.y).toBeGreaterThan(550);
});

test("keeps the purchase button visible on wide screens", async ({ page }) => {
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto(paths.template(2));
  const included = page.getByRole("heading", { name: "What's Included" });
  await included.evaluate((heading) => heading.scrollIntoView({ block: "end" }));
  await expect(page.getByRole("link", { name: "Purchase Template - $64" })).toBeInViewport();
});

test("has metadata for search engines and shared links", async ({ page }) => {
  await page.goto(paths.template(6));
  await expect(page).toHaveTitle(/^Order Confirmation - /);
  const data = JSON.parse((await page.locator("#structured-data").textContent()) ?? "");
  expect(data).toMatchObject({ "@type": "Product", name: "Order Confirmation" });
  expect(data.offers).toMatchObject({ price: "1250", priceCurrency: "USD" });
  expect(JSON.stringify(data)).not.toContain("ating");
  await expect(page.locator('link[rel="canonical"]')).toHaveAttribute("href", /\/template\/6$/);
  await expect(page.locator('meta[property="og:title"]')).toHaveAttribute(
    "content",
    /^Order Confirmation - /,
  );
  await expect(page.locator('meta[property="og:image"]')).toHaveAttribute(
    "content",
    /\/shared\/06\.jpg$/,
  );
});

/** Returns the list items of the section with this heading. */
function section(page: import("@playwright/test").Page, heading: string) {
  return page
    .locator("section")
    .filter({ has: page.getByRole("heading", { name: heading }) })
    .getByRole("listitem");
}

test("shows the email on a desktop, on a phone, in a dark mailbox, with images off and on Windows", async ({
  page,
}) => {
  await openWithScript(page, paths.template(3));
  const picture = page.getByRole("tabpanel").getByRole("img");
  const seen = new Set<string>();
  for (const name of ["Desktop", "Phone", "Dark", "Images off", "Windows"]) {
    await page.getByRole("tab", { name, exact: true }).click();
    await expect(page.getByRole("tabpanel", { name, exact: true })).toBeVisible();
    await expect
      .poll(() => picture.evaluate((it: HTMLImageElement) => it.naturalWidth))
      .toBeGreaterThan(0);
    seen.add(await picture.evaluate((it: HTMLImageElement) => it.currentSrc));
  }
  expect(seen.size).toBe(5);
});

test("shows the plain text of each letter, which is that of the file for buyers", async ({
  page,
}) => {
  await openWithScript(page, paths.template(3));
  await page.getByRole("tab", { name: "Plain text" }).click();
  const text = page.frameLocator("main iframe").locator("pre");
  await expect(text).toHaveCount(3);
  await expect(text.first()).toContainText("HELLO, IMOGEN.");
});

test("the live mail is reached and scrolled by keyboard", async ({ page }) => {
  await openWithScript(page, paths.template(3));
  await page.getByRole("button", { name: "Open the live email" }).click();
  const mail = page.frameLocator("main iframe");
  await expect(mail.getByRole("heading", { level: 1 })).toBeVisible();
  await page.getByRole("tab", { selected: true }).focus();
  await page.keyboard.press("Tab");
  await expect(page.locator("main iframe")).toBeFocused();
  await page.keyboard.press("PageDown");
  await expect
    .poll(() =>
      mail.locator("html").evaluate((root) => root.ownerDocument.defaultView?.scrollY ?? 0),
    )
    .toBeGreaterThan(100);
});

test("the live mail is a frame without scripts and origin, for each letter of a series", async ({
  page,
}) => {
  await openWithScript(page, paths.template(3));
  await page.getByRole("button", { name: "Open the live email" }).click();
  const mail = page.frameLocator("main iframe");
  await expect(mail.getByRole("heading", { level: 1 })).toContainText("Hello, Imogen.");
  await page.getByRole("tab", { name: "Letter 3" }).click();
  await expect(mail.getByRole("heading", { level: 1 })).toContainText("Pull one up.");
  expect(await mail.locator("a[href]").count()).toBe(0);
  const sent = await page.request.get(paths.mail(3, 3));
  expect(sent.headers()["content-security-policy"]).toMatch(/^default-src 'none'.*; sandbox$/);
  // A page of another origin cannot frame it.
  expect(sent.headers()["x-frame-options"]).toBe("SAMEORIGIN");
  // By the keyboard: a click directly after the page has scrolled can reach the frame, which is another process.
  await page.getByRole("button", { name: "Show the pictures" }).press("Enter");
  await expect(page.locator("main iframe")).toHaveCount(0);
  await page.getByRole("tab", { name: "Letter 2" }).click();
  await expect(page.getByRole("img", { name: /^Second letter/ })).toBeVisible();
});
