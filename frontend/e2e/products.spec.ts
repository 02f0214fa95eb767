import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Browser, expect, test } from "@playwright/test";
import sharp from "sharp";
import { setFonts } from "../emails/fonts.mjs";
import { EMAILS, listMails } from "../emails/list.mjs";
import { buildProduct, HTML } from "../emails/ship/product.mjs";

/** Opens the files of a product as a buyer does after unpacking them. */
async function unpack(email: (typeof EMAILS)[number]): Promise<{ folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), "product-"));
  for (const [name, content] of await buildProduct(email)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return { folder };
}

/** The width to which pictures are reduced before they are compared: letters blur, layout and colours stay. */
const COMPARED_WIDTH = 150;
/** The mean difference of two pictures of one mail, of 255; compression and the hinting of fonts make up less. */
const SAME = 4;

/** Draws a mail of a product as its pictures are drawn. */
async function draw(
  browser: Browser,
  address: string,
  scale: number,
  machine?: "windows",
): Promise<Buffer> {
  const page = await browser.newPage({
    viewport: { width: 600, height: 750 },
    deviceScaleFactor: scale,
    colorScheme: "light",
    reducedMotion: "reduce",
    offline: true,
  });
  await page.goto(address);
  await setFonts(page, machine);
  const shot = await page.screenshot({ fullPage: true });
  await page.close();
  return shot;
}

/** The mean difference of two pictures, of 255; of pictures of other proportions the whole. */
async function difference(one: string | Buffer, other: string | Buffer): Promise<number> {
  const [first, second] = await Promise.all(
    [one, other].map((picture) =>
      sharp(picture)
        .removeAlpha()
        .resize({ width: COMPARED_WIDTH })
        .raw()
        .toBuffer({ resolveWithObject: true }),
    ),
  );
  if (!first || !second || Math.abs(first.info.height - second.info.height) > 1) return 255;
  const length = Math.min(first.data.length, second.data.length);
  let sum = 0;
  for (let at = 0; at < length; at++)
    sum += Math.abs((first.data[at] ?? 0) - (second.data[at] ?? 0));
  return sum / length;
}

function previewFile(name: string): string {
  return join(import.meta.dirname, "..", "src", "previews", name);
}

const MAILS = EMAILS.flatMap((email) =>
  listMails(email).map(({ source, place }) => ({
    email,
    place,
    name: `${email.folder} ${source}`,
  })),
);

for (const email of EMAILS) {
  test(`${email.folder} looks like its pictures in the shop`, async ({ browser }) => {
    const { folder } = await unpack(email);
    const number = String(email.id).padStart(2, "0");
    for (const [index, { place }] of listMails(email).entries()) {
      const kind = index === 0 ? "detail-1200" : `letter${index + 1}-720`;
      const shot = await draw(
        browser,
        `file://${join(folder, place, HTML)}`,
        index === 0 ? 2 : 1.2,
      );
      const picture = previewFile(`${number}-${kind}.avif`);
      expect(await difference(shot, picture), `${email.folder} ${place}`).toBeLessThan(SAME);
      // It would see other colours.
      const dark = previewFile(`${number}-dark-840.avif`);
      expect(await difference(shot, dark), `${email.folder} in dark`).toBeGreaterThan(SAME);
    }
    const windows = await draw(browser, `file://${join(folder, HTML)}`, 1.2, "windows");
    const picture = previewFile(`${number}-windows-720.avif`);
    expect(await difference(windows, picture), `${email.folder} on Windows`).toBeLessThan(SAME);
    rmSync(folder, { recursive: true });
  });
}

for (const { email, place, name } of MAILS) {
  test(`${name} fits its window, loads its own pictures only, and can be read without`, async ({
    browser,
  }) => {
    const { folder } = await unpack(email);
    const address = `file://${join(folder, place, HTML)}`;
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
        await setFonts(page);
      }
      const seen = await page.evaluate(() => ({
        width: document.documentElement.scrollWidth,
        pictures: [...document.images]
          .filter((picture) => getComputedStyle(picture).display !== "none")
          .map((picture) => picture.naturalWidth > 0),
      }));
      expect(seen.width, `${name} at ${width} px`).toBe(width);
      for (const isLoaded of seen.pictures) expect(isLoaded).toBe(pictures);
      await page.close();
    }
    expect(outside).toEqual([]);
    rmSync(folder, { recursive: true });
  });

  test(`${name} shows one picture of each two, light and dark`, async ({ browser }) => {
    const { folder } = await unpack(email);
    const address = `file://${join(folder, place, HTML)}`;
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
