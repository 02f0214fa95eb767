import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Browser, expect, type Page, test } from "@playwright/test";
import sharp from "sharp";
import { fontFaces, setFonts, WEB_FACES } from "../emails/fonts.mjs";
import { EMAILS, listFurtherKinds, listMails } from "../emails/list.mjs";
import { buildProduct, HTML } from "../emails/ship/product.mjs";

const FONT_FILES = /\.woff2$/;

/** Opens the files of a product as a buyer does after unpacking them. */
async function unpack(email: (typeof EMAILS)[number]): Promise<{ folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), "product-"));
  for (const [name, content] of await buildProduct(email)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return { folder };
}

/** The width to which pictures are reduced before they are compared: letters blur, lines of text, layout and colours stay. */
const COMPARED_WIDTH = 300;
/** The mean difference of two pictures of one mail, of 255; compression and the hinting of fonts make up less than 2, another font more than 5. */
const SAME = 3;

/** Draws a mail of a product as its pictures are drawn: with the fonts of its folder, or those of Windows. */
async function draw(
  browser: Browser,
  address: string,
  scale: number,
  { machine, isWithout = false }: { machine?: "windows"; isWithout?: boolean } = {},
): Promise<Buffer> {
  const page = await browser.newPage({
    viewport: { width: 600, height: 750 },
    deviceScaleFactor: scale,
    colorScheme: "light",
    reducedMotion: "reduce",
    offline: true,
  });
  if (isWithout) await page.route(FONT_FILES, (route) => route.abort());
  await page.goto(address);
  if (isWithout) await page.addStyleTag({ content: fontFaces() });
  else await setFonts(page, machine);
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
    const kinds = listFurtherKinds(email);
    for (const [index, { place }] of listMails(email).entries()) {
      const kind = index === 0 ? "detail-1200" : `${kinds[index - 1]}-720`;
      const address = `file://${join(folder, place, HTML)}`;
      const scale = index === 0 ? 2 : 1.2;
      const shot = await draw(browser, address, scale);
      const picture = previewFile(`${number}-${kind}.avif`);
      expect(await difference(shot, picture), `${email.folder} ${place}`).toBeLessThan(SAME);
      // It would see other fonts.
      const without = await draw(browser, address, scale, { isWithout: true });
      expect(await difference(without, picture), `${place} without fonts`).toBeGreaterThan(SAME);
      // It would see other colours.
      const dark = previewFile(`${number}-dark-840.avif`);
      expect(await difference(shot, dark), `${email.folder} in dark`).toBeGreaterThan(SAME);
    }
    const address = `file://${join(folder, HTML)}`;
    const windows = await draw(browser, address, 1.2, { machine: "windows" });
    const picture = previewFile(`${number}-windows-720.avif`);
    expect(await difference(windows, picture), `${email.folder} on Windows`).toBeLessThan(SAME);
    rmSync(folder, { recursive: true });
  });
}

const WEB_FAMILIES = WEB_FACES.map(([family]) => family);

/** The families that a page loads, with the styles of its files, and those that its texts name first. */
async function listFonts(
  page: Page,
): Promise<{ loaded: string[]; unused: string[]; named: string[] }> {
  return page.evaluate(async () => {
    await document.fonts.ready;
    const plain = (family: string) => family.replaceAll('"', "").trim();
    const faces = [...document.fonts];
    const label = ({ family, style }: FontFace) => `${plain(family)} ${style}`;
    const texts = [...document.querySelectorAll("body *")].filter(
      (element) =>
        element.checkVisibility() &&
        [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent?.trim()),
    );
    const named = texts.map((text) => {
      const { fontFamily, fontStyle } = getComputedStyle(text);
      return `${plain(fontFamily.split(",")[0] ?? "")} ${fontStyle}`;
    });
    return {
      loaded: faces.filter(({ status }) => status === "loaded").map(label),
      unused: faces.filter(({ status }) => status !== "loaded").map(label),
      named: [...new Set(named)],
    };
  });
}

for (const { email, place, name } of MAILS) {
  test(`${name} shows the fonts of its folder, each of them and no other`, async ({ browser }) => {
    const { folder } = await unpack(email);
    const page = await browser.newPage({ offline: true });
    await page.goto(`file://${join(folder, place, HTML)}`);
    const { loaded, unused, named } = await listFonts(page);
    expect(loaded.length).toBeGreaterThan(0);
    expect(unused).toEqual([]);
    const common = /^(?:Arial|Georgia|Courier New) /;
    expect(named.filter((family) => !common.test(family)).sort()).toEqual(loaded.sort());
    for (const label of loaded) expect(WEB_FAMILIES).toContain(label.replace(/ \w+$/, ""));
    await page.close();
    rmSync(folder, { recursive: true });
  });

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
      if (!fonts) await page.route(FONT_FILES, (route) => route.abort());
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
