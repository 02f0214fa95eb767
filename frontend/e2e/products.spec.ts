import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "@playwright/test";
import { fontFaces } from "../emails/fonts.mjs";
import { EMAILS } from "../emails/list.mjs";
import { buildProduct, HTML } from "../emails/ship/product.mjs";

/** Opens the files of a product as a buyer does after unpacking them. */
async function unpack(email: { folder: string }): Promise<{ folder: string; address: string }> {
  const folder = mkdtempSync(join(tmpdir(), "product-"));
  for (const [name, content] of await buildProduct(email)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return { folder, address: `file://${join(folder, HTML)}` };
}

// A trace of so many pages takes longer than the tests.
test.use({ trace: "off" });

for (const email of EMAILS) {
  test(`${email.folder} fits its window, loads its own pictures only, and can be read without`, async ({
    browser,
  }) => {
    const { folder, address } = await unpack(email);
    const outside: string[] = [];
    for (const { width, fonts, pictures } of [
      { width: 600, fonts: true, pictures: true },
      { width: 390, fonts: true, pictures: true },
      { width: 320, fonts: true, pictures: true },
      // The machine's fonts in place of all that are named.
      { width: 320, fonts: false, pictures: true },
      { width: 320, fonts: true, pictures: false },
    ]) {
      const page = await browser.newPage({ viewport: { width, height: 800 } });
      if (!pictures) await page.route(/\.png$/, (route) => route.abort());
      page.on("request", (request) => {
        if (!request.url().startsWith(`file://${folder}/`) && !request.url().startsWith("data:")) {
          outside.push(request.url());
        }
      });
      await page.goto(address);
      if (fonts) {
        await page.addStyleTag({ content: fontFaces() });
        await page.evaluate(() => Promise.all([...document.fonts].map((face) => face.load())));
      }
      const seen = await page.evaluate(() => ({
        width: document.documentElement.scrollWidth,
        pictures: [...document.images]
          .filter((picture) => getComputedStyle(picture).display !== "none")
          .map((picture) => picture.naturalWidth > 0),
      }));
      expect(seen.width, `${email.folder} at ${width} px`).toBe(width);
      for (const isLoaded of seen.pictures) expect(isLoaded).toBe(pictures);
      await page.close();
    }
    expect(outside).toEqual([]);
    rmSync(folder, { recursive: true });
  });

  test(`${email.folder} shows one picture of each two, light and dark`, async ({ browser }) => {
    const { folder, address } = await unpack(email);
    for (const colorScheme of ["light", "dark"] as const) {
      const page = await browser.newPage({ colorScheme });
      await page.goto(address);
      const [shown, hidden] =
        colorScheme === "light" ? ["by-day", "by-night"] : ["by-night", "by-day"];
      for (const picture of await page.locator(`.${shown}`).all())
        await expect(picture).toBeVisible();
      for (const picture of await page.locator(`.${hidden}`).all())
        await expect(picture).toBeHidden();
      await page.close();
    }
    rmSync(folder, { recursive: true });
  });
}
