// Renders what buyers get of every e-mail with Chromium: desktop, phone, dark mailbox, with pictures off, and with the fonts of Windows. Writes AVIF and WebP files and their index into src/previews, and optionally PNG
// files for review. The output is reproducible on one machine: fonts come from the mails and from packages, there are no requests and no clock.
//   npm run emails:render                    all twelve
//   npm run emails:render -- --proof DIR     PNG proofs only: 600 and 390 px, light and dark
//   … --only 3,8                             some of them
//   … --view windows                         one view; the files of the others stay
//   … --view further                         the further letters and layouts only
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";
import sharp from "sharp";
import { missingFonts, setFonts } from "./fonts.mjs";
import { EMAILS, listFurtherKinds, listMails } from "./list.mjs";
import { previewFiles, previewIndex } from "./preview-index.mjs";
import { appearanceDigest, buildProduct, HTML } from "./ship/product.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));
const PREVIEWS = join(HERE, "..", "src", "previews");
const DESKTOP = 600;
const PHONE = 390;

/**
 * The widths of the files of a view with their quality, and how to open the e-mail for it. Cards show the top of the mail in 4:5.
 * All of them are part of the binary: WebP, for browsers without AVIF, is small. Larger files have a lower quality, because
 * screens show their pixels smaller.
 */
const VIEWS = {
  card: { ratio: 5 / 4, avif: { 360: 43, 720: 41 }, webp: { 480: 44 } },
  detail: { avif: { 720: 41, 1200: 38 }, webp: { 480: 26 } },
  phone: { avif: { 720: 32 }, webp: {}, width: PHONE },
  dark: { avif: { 840: 32 }, webp: {}, dark: true },
  unloaded: { avif: { 720: 30 }, webp: {}, pictures: false },
  windows: { avif: { 720: 32 }, webp: {}, machine: "windows" },
};
/** How the further mails of a product are drawn: the letters of a series, or other layouts. */
const FURTHER = { avif: { 720: 32 }, webp: {} };
const CARD_RATIO = VIEWS.card.ratio;

sharp.concurrency(1);
sharp.cache(false);

const { values: options } = parseArgs({
  options: { only: { type: "string" }, proof: { type: "string" }, view: { type: "string" } },
});
const only = options.only?.split(",").map(Number);
const emails = EMAILS.filter(({ id }) => !only || only.includes(id));

if (options.view && options.view !== "further" && !VIEWS[options.view]) {
  fail(`${options.view} is none of ${Object.keys(VIEWS).join(", ")}, further.`);
}

const missing = missingFonts();
if (missing.length > 0) {
  fail(`These font files are missing: run "npm install" in frontend/.\n  ${missing.join("\n  ")}`);
}
const unpacked = mkdtempSync(join(tmpdir(), "emails-"));
const browser = await launch();
try {
  if (options.proof) await writeProofs(options.proof);
  else await writePreviews();
} finally {
  await browser.close();
  rmSync(unpacked, { recursive: true });
}

async function launch() {
  const executablePath = process.env.CHROMIUM_BIN ?? process.env.CHROMIUM ?? "/usr/bin/chromium";
  if (!existsSync(executablePath)) {
    fail(
      `No Chromium at ${executablePath}: install it (Debian: apt install chromium) or set CHROMIUM_BIN.`,
    );
  }
  return chromium.launch({
    executablePath,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--disable-lcd-text",
      "--font-render-hinting=none",
      "--force-color-profile=srgb",
      "--hide-scrollbars",
    ],
  });
}

/** Writes the files that buyers get into a folder, and returns it. */
async function unpack(email) {
  const folder = join(unpacked, email.folder);
  for (const [name, content] of await buildProduct(email)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}

/** Opens an e-mail at a width, with loaded fonts; the caller closes the page. */
async function open(email, options) {
  const { width = DESKTOP, scale, dark = false, pictures = true, place = "", machine } = options;
  const page = await browser.newPage({
    viewport: { width, height: Math.round(width * CARD_RATIO) },
    deviceScaleFactor: scale,
    colorScheme: dark ? "dark" : "light",
    reducedMotion: "reduce",
    offline: true,
  });
  if (!pictures) await page.route(/\.png$/, (route) => route.abort());
  await page.goto(pathToFileURL(join(await unpack(email), place, HTML)).href);
  await setFonts(page, machine);
  const needed = await page.evaluate(() => document.documentElement.scrollWidth);
  if (needed > width) fail(`${email.folder} is ${needed} px wide in a window of ${width} px.`);
  return page;
}

async function writeProofs(folder) {
  mkdirSync(folder, { recursive: true });
  for (const email of emails) {
    for (const width of [DESKTOP, PHONE]) {
      for (const dark of [false, true]) {
        for (const { source, place } of listMails(email)) {
          const page = await open(email, { width, scale: 2, dark, place });
          const name = `${email.folder}-${source}-${width}-${dark ? "dark" : "light"}.png`;
          await page.screenshot({ path: join(folder, name), fullPage: true });
          await page.close();
        }
      }
    }
  }
}

async function writePreviews() {
  mkdirSync(PREVIEWS, { recursive: true });
  const all = [];
  for (const email of EMAILS) {
    const wanted = emails.includes(email);
    if (wanted && options.view === "further") await writeFurther(email);
    else if (wanted && options.view) await writeView(email, options.view);
    const isWhole = wanted && !options.view;
    all.push({ ...email, ...(isWhole ? await writePictures(email) : await readPictures(email)) });
    if (wanted) console.info(email.folder);
  }
  writeFileSync(join(PREVIEWS, "index.ts"), previewIndex(all));
  if (!options.view || options.view === "further") recordRendered();
  removeUnlistedPictures(all);
}

/** Records of which state the pictures are; a test compares it with the sources. */
function recordRendered() {
  const file = join(HERE, "rendered.json");
  const known = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  const rendered = emails.map((email) => [email.folder, appearanceDigest(email)]);
  const all = Object.entries({ ...known, ...Object.fromEntries(rendered) }).sort();
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(all), null, 2)}\n`);
}

/** Removes pictures that the index does not contain. */
function removeUnlistedPictures(all) {
  const named = all.flatMap((email) => previewFiles(email));
  const kept = new Set([...named, "index.ts"]);
  for (const file of readdirSync(PREVIEWS)) {
    if (!kept.has(file)) rmSync(join(PREVIEWS, file));
  }
}

async function writePictures(email) {
  const result = {};
  for (const kind of Object.keys(VIEWS)) result[kind] = await writeView(email, kind);
  return { ...result, furtherPictures: await writeFurther(email) };
}

/** Writes the files of the further mails of a product; returns their table entries. */
async function writeFurther(email) {
  const pictures = [];
  const [, ...further] = listMails(email);
  for (const [at, { place }] of further.entries()) {
    const scale = Math.max(...widths(FURTHER, "avif")) / DESKTOP;
    const page = await open(email, { scale, place });
    const shot = await page.screenshot({ fullPage: true });
    pictures.push(await encode(email, listFurtherKinds(email)[at], FURTHER, shot));
    await page.close();
  }
  return pictures;
}

/** Writes the files of a view; returns its table entry. */
async function writeView(email, kind) {
  const view = VIEWS[kind];
  const { width = DESKTOP } = view;
  const page = await open(email, { ...view, scale: Math.max(...widths(view, "avif")) / width });
  const shot = await page.screenshot({ fullPage: view.ratio === undefined });
  await page.close();
  return encode(email, kind, view, shot);
}

/** Returns the table entry of an e-mail whose pictures are not rendered again. */
async function readPictures(email) {
  const result = {};
  const further = listFurtherKinds(email).map((kind) => [kind, FURTHER]);
  for (const [kind, view] of [...Object.entries(VIEWS), ...further]) {
    const named = (format) =>
      widths(view, format).map((width) => ({ file: fileName(email, kind, width, format), width }));
    const files = { avif: named("avif"), webp: named("webp") };
    const largest = join(PREVIEWS, files.avif.at(-1).file);
    if (!existsSync(largest)) fail(`${largest} is missing: render all twelve once.`);
    const { width, height } = await sharp(largest).metadata();
    result[kind] = { ...files, width, height };
  }
  return { ...result, furtherPictures: further.map(([kind]) => result[kind]) };
}

/** Writes a picture in all sizes; returns the size of the largest, for `width` and `height` in the page. */
async function encode(email, kind, view, shot) {
  const write = async (format, width) => {
    const file = fileName(email, kind, width, format);
    const quality = view[format][width];
    const picture = sharp(shot).removeAlpha().resize({ width, kernel: "lanczos3" });
    // The highest effort takes minutes for an e-mail, and saves a tenth of the bytes that every visitor loads.
    const encoded =
      format === "avif"
        ? picture.avif({ quality, effort: 9, chromaSubsampling: "4:4:4", tune: "iq" })
        : picture.webp({ quality, effort: 6, smartSubsample: true });
    const { height } = await encoded.toFile(join(PREVIEWS, file));
    return { file, width, height };
  };
  const writeAll = (format) =>
    Promise.all(widths(view, format).map((width) => write(format, width)));
  const [avif, webp] = await Promise.all([writeAll("avif"), writeAll("webp")]);
  const { width, height } = avif.at(-1);
  const listed = (files) => files.map(({ file, width }) => ({ file, width }));
  return { avif: listed(avif), webp: listed(webp), width, height };
}

/** The widths of the files of a view in a format, smallest first. */
function widths(view, format) {
  return Object.keys(view[format]).map(Number);
}

function fileName(email, kind, width, format) {
  return `${String(email.id).padStart(2, "0")}-${kind}-${width}.${format}`;
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
