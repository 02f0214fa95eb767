import { fileURLToPath } from "node:url";
import { paths } from "../src/shared/paths.ts";
import { startBasalt } from "./basalt.mjs";
import { consoleErrors, expect, mailsTo, SCREENS, startProgram, TEMPLATES, test } from "./shop.ts";

const DETAILS = { name: "DETAILS:" };

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false });

  for (const [name, path] of Object.entries(SCREENS)) {
    test(`${name} is readable`, async ({ page }) => {
      await page.goto(path);
      await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
      await expect(page.getByRole("link").or(page.getByRole("button")).first()).toBeVisible();
    });
  }

  test("the catalogue shows all cards, filters them and leads to a template", async ({ page }) => {
    await page.goto(paths.catalogue);
    await expect(page.getByRole("heading", { level: 2 })).toHaveCount(12);
    await page.getByRole("button", { name: "Corporate" }).click();
    await expect(page).toHaveURL(`${paths.catalogue}?category=Corporate`);
    await expect(page.getByRole("heading", { level: 2 })).toHaveCount(5);
    await expect(page.getByRole("button", { pressed: true })).toHaveText("Corporate");
    await page.getByRole("link", { name: "View Template: Executive Report" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Executive Report");
    await expect(page.getByRole("link", { name: "Request Custom Design - $17" })).toBeVisible();
  });

  for (const [id, names] of [
    [1, []],
    [3, ["Letter 2", "Letter 3"]],
    [6, ["Layout 2"]],
    [8, ["Layout 2", "Layout 3"]],
    [12, ["Layout 2"]],
  ] as const) {
    test(`the page of template ${id} shows each of its mails`, async ({ page }) => {
      await page.goto(paths.template(id));
      const buttons = page.locator("main summary");
      await expect(buttons).toHaveText([/See the whole email/, ...names]);
      await expect(page.getByRole("tab")).toHaveCount(0);
      const pictures = page.getByRole("main").getByRole("img");
      await expect(pictures).toHaveCount(1);
      for (const [index, name] of names.entries()) {
        await buttons.getByText(name).click();
        await expect(pictures).toHaveCount(index + 2);
        const picture = pictures.nth(index + 1);
        await expect(picture).toHaveAttribute("alt", /^(Second|Third) (letter|layout)/);
        await picture.scrollIntoViewIfNeeded();
        await expect
          .poll(() => picture.evaluate((image: HTMLImageElement) => image.naturalWidth))
          .toBeGreaterThan(0);
      }
      // The first one stays cropped until its own button is pressed.
      await expect(buttons.getByText("See the whole email")).toBeVisible();
    });
  }

  test("the form sends the details, and shows the received card", async ({ page, basalt }) => {
    const address = `plain-${Date.now()}@example.com`;
    await page.goto(paths.request(9));
    await page.getByRole("textbox", DETAILS).fill(`Two lines\nto ${address}`);
    await page.getByRole("button", { name: "Submit Now" }).click();
    await expect(page).toHaveURL(paths.request(9));
    await expect(page.getByRole("heading", { name: "Submission Received!" })).toBeVisible();
    await expect(page.getByRole("textbox")).toHaveCount(0);
    expect(await mailsTo(basalt.inboxUrl, address)).toHaveLength(1);
    const [notice] = await mailsTo(basalt.inboxUrl, "owner@example.com");
    expect(notice?.text).toContain("It is about template 9, Executive Report.");
  });

  for (const [what, text, message] of [
    ["white space", " \n ", "Details are required"],
    ["1001 characters", "ä".repeat(1001), "Details must be less than 1000 characters"],
  ] as const) {
    test(`the form refuses ${what} with the specified words, and keeps it`, async ({ page }) => {
      await page.goto(paths.submission);
      await page.getByRole("textbox", DETAILS).fill(text);
      await page.getByRole("button", { name: "Submit Now" }).click();
      await expect(page.getByText(message)).toBeVisible();
      await expect(page.getByRole("textbox", DETAILS)).toHaveValue(text);
      await expect(page.getByRole("textbox", DETAILS)).toHaveAttribute("aria-invalid", "true");
    });
  }

  test("the form counts a line break as one character", async ({ page }) => {
    await page.goto(paths.submission);
    await page.getByRole("textbox", DETAILS).fill(`${"a\n".repeat(499)}ab`);
    await page.getByRole("button", { name: "Submit Now" }).click();
    await expect(page.getByRole("heading", { name: "Submission Received!" })).toBeVisible();
  });
});

test("a failed submission shows the form with its text and nothing else", async ({ basalt }) => {
  const answer = await fetch(`${basalt.url}${paths.submission}`, {
    method: "POST",
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      "sec-fetch-site": "cross-site",
    },
    body: new URLSearchParams({ description: 'A "card" & <more>' }),
  });
  expect(answer.status).toBe(403);
  const html = await answer.text();
  expect(html).toContain("A &quot;card&quot; &amp; &lt;more&gt;</textarea>");
  expect(html).not.toMatch(/Details (are|must)/);
});

test("shared links have title, description, address and picture of their own", async ({
  basalt,
}) => {
  const read = async (path: string) => (await fetch(basalt.url + path)).text();
  const one = await read(paths.template(1));
  expect(one).toContain(
    "<title>Professional Newsletter - Professional Email Templates | Custom Email Designs That Convert</title>",
  );
  expect(one).toContain('<meta name="description" content="Three stories, one clear order');
  expect(one).toContain(`<link rel="canonical" href="${basalt.url}/template/1" />`);
  expect(one).toContain(`<meta property="og:image" content="${basalt.url}/shared/01.jpg" />`);
  expect(one).toContain("$28");
  const picture = await fetch(`${basalt.url}/shared/01.jpg`);
  expect(picture.headers.get("content-type")).toBe("image/jpeg");
  expect(await read(paths.template(2))).toContain("/shared/02.jpg");
  expect(await read(paths.template(99))).toContain('<meta name="robots" content="noindex" />');
  expect(await read("/sitemap.xml")).toContain(`<loc>${basalt.url}/template/12</loc>`);
});

for (const [from, to] of [
  ["/template/1/", "/template/1"],
  ["/submit/?template=9", "/submit?template=9"],
] as const) {
  test(`${from} is redirected for good`, async ({ basalt }) => {
    const answer = await fetch(basalt.url + from, { redirect: "manual" });
    expect([answer.status, answer.headers.get("location")]).toEqual([301, to]);
  });
}

test("a script that cannot be loaded leaves a page that can be read and used", async ({ page }) => {
  await page.route("**/assets/*.js", (route) => route.abort());
  await page.goto(paths.catalogue);
  await expect(page.getByRole("heading", { level: 2 })).toHaveCount(12);
  await page.getByRole("link", { name: "View Template: Welcome Series" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Welcome Series");
  await page.getByRole("link", { name: "Request Custom Design", exact: true }).click();
  await page.getByRole("textbox", DETAILS).fill("Without a script");
  await page.getByRole("button", { name: "Submit Now" }).click();
  await expect(page.getByRole("heading", { name: "Submission Received!" })).toBeVisible();
});

test("no page differs from what the server sent", async ({ page }) => {
  const errors = consoleErrors(page);
  for (const path of new Set([...Object.values(SCREENS), ...TEMPLATES])) {
    await page.goto(path, { waitUntil: "networkidle" });
    await startProgram(page);
    const different = errors.filter((error) => /hydrat|rendered again/i.test(error));
    expect.soft(different, path).toEqual([]);
    errors.length = 0;
  }
});

test("text that is entered before the page works is kept", async ({ page }) => {
  await page.route("**/assets/*.js", async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 1500));
    await route.continue();
  });
  await page.goto(paths.submission, { waitUntil: "commit" });
  const field = page.getByRole("textbox", DETAILS);
  await field.fill("Written early");
  await page.waitForLoadState("networkidle");
  await expect(field).toHaveValue("Written early");
  await page.getByRole("button", { name: "Submit Now" }).click();
  await expect(page.getByRole("heading", { name: "Submission Received!" })).toBeFocused();
});

test("a picture that the owner gives is on the card and on the page", async ({ page }) => {
  const errors = consoleErrors(page);
  const basalt = await startBasalt();
  try {
    const entry = `[[template]]\nid = 9\npicture = "picture"\npicture_alt = "A seal on paper"\n`;
    await basalt.writeCatalogue(
      entry,
      fileURLToPath(new URL("../public/icon-512.png", import.meta.url)),
    );
    await expect
      .poll(async () => (await fetch(`${basalt.url}/template/9`)).text())
      .toContain("A seal on paper");
    for (const path of ["/?category=Corporate", "/template/9"]) {
      await page.goto(basalt.url + path, { waitUntil: "networkidle" });
      await startProgram(page);
      const picture = page.getByRole("img", { name: "A seal on paper" });
      await expect
        .poll(() => picture.evaluate((image: HTMLImageElement) => image.naturalWidth))
        .toBeGreaterThan(0);
    }
    await expect(page.getByRole("tab")).toHaveCount(0);
    await expect(page.getByText("See the whole email")).toHaveCount(0);
    expect(errors.filter((error) => /hydrat|rendered again/i.test(error))).toEqual([]);
  } finally {
    await basalt.stop();
  }
});

test("prices, texts and new templates change without a build", async ({ page }) => {
  const basalt = await startBasalt();
  await basalt.writeCatalogue(`order = [13]
[[template]]
id = 1
price = "$31.50"
[[template]]
id = 13
title = "Menu <of> the Week"
category = "Food"
price = "$5"
summary = "A menu for the week."
description = "A menu for the week, with a dish for each day."
features = ["One", "Two", "Three", "Four", "Five"]
link = "https://pay.example/menu?a=1&b=2"
`);
  await expect.poll(async () => (await fetch(`${basalt.url}/template/13`)).status).toBe(200);
  const errors = consoleErrors(page);
  await page.goto(`${basalt.url}${paths.catalogue}`, { waitUntil: "networkidle" });
  await expect(page.getByRole("heading", { level: 2 }).first()).toHaveText("Menu <of> the Week");
  await expect(page.getByText("$31.50")).toBeVisible();
  await expect(page.getByRole("button", { name: "Food" })).toBeVisible();
  await page.goto(`${basalt.url}/template/13`, { waitUntil: "networkidle" });
  await expect(page.getByRole("link", { name: "Purchase Template - $5" })).toHaveAttribute(
    "href",
    "https://pay.example/menu?a=1&b=2",
  );
  expect(errors).toEqual([]);
  await basalt.writeCatalogue("[[template]]\nid = 1\nprice = 5\n");
  await page.waitForTimeout(2500);
  expect(await (await fetch(`${basalt.url}/template/1`)).text()).toContain("$31.50");
  await basalt.stop();
});

test("the session of a mailed link is consumed on any page, and the address is cleaned", async ({
  page,
}) => {
  await page.goto(`${paths.template(3)}#error=access_denied&error_code=otp_expired&sb=`);
  await expect(page).toHaveURL(paths.template(3));
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Welcome Series");
});

test("large text on a narrow screen clips nothing", async ({ page }) => {
  await page.setViewportSize({ width: 375, height: 667 });
  for (const path of Object.values(SCREENS)) {
    await page.goto(path);
    await page.evaluate(() => {
      document.documentElement.style.setProperty("font-size", "200%");
    });
    const clipped = await page.evaluate(() =>
      [...document.querySelectorAll("h1, h2, p, a, button, li, dd, dt, summary, label")]
        .filter((element) => {
          const { left, right, width } = element.getBoundingClientRect();
          const scrolls = element.closest("fieldset") !== null;
          const hidden = element.classList.contains("sr-only") || width === 0;
          return !scrolls && !hidden && (left < -1 || right > innerWidth + 1);
        })
        .map((element) => element.outerHTML.slice(0, 120)),
    );
    expect(clipped, path).toEqual([]);
  }
});

test("a printed template has its texts, and no controls", async ({ page }) => {
  await page.goto(paths.template(1));
  await page.emulateMedia({ media: "print" });
  await expect(page.getByRole("link", { name: "Back to Templates" })).toBeHidden();
  await expect(page.getByText("See the whole email")).toBeHidden();
  await expect(page.getByText("$28", { exact: true })).toBeVisible();
  await expect(page.getByRole("heading", { name: "What's Included" })).toBeVisible();
});

test("a printed template fits on two sheets", async ({ page }) => {
  for (const id of [1, 5, 9]) {
    await page.goto(paths.template(id));
    await page.waitForLoadState("networkidle");
    const document = (await page.pdf({ format: "A4" })).toString("latin1");
    const sheets = document.match(/\/Type\s*\/Page\b/g) ?? [];
    expect(sheets.length, `template ${id}`).toBeGreaterThan(0);
    expect(sheets.length, `template ${id}`).toBeLessThanOrEqual(2);
  }
});
