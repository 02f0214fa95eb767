// Renders the icons from `public/favicon.svg`, and the preview picture of shared links from the
// catalogue of a running shop.
//
//   npm run build && npx vite preview & node scripts/draw-icons.mjs http://localhost:4173
//
// Then `zopflipng -y --filters=01234mepb FILE FILE` for each PNG of `public`: they are part of the binary.
import { readFile, writeFile } from "node:fs/promises";
import { chromium } from "@playwright/test";
import sharp from "sharp";

const shop = process.argv[2] ?? "http://localhost:4173";
const mark = await readFile("public/favicon.svg", "utf8");
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_BIN ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});

async function drawIcon(file, size, { margin = 0, background = "transparent" } = {}) {
  const page = await browser.newPage({ viewport: { width: size, height: size } });
  await page.setContent(
    `<style>body{margin:${margin}px;background:${background}}svg{display:block;width:100%}</style>${mark}`,
  );
  const picture = await page.screenshot({ omitBackground: background === "transparent" });
  await page.close();
  await writeFile(`public/${file}`, file.endsWith(".ico") ? asIco(picture, size) : picture);
}

/** An ICO file may contain a PNG after a header of 22 bytes. */
function asIco(png, size) {
  const header = Buffer.alloc(22);
  header.writeUInt16LE(1, 2);
  header.writeUInt16LE(1, 4);
  header.writeUInt8(size, 6);
  header.writeUInt8(size, 7);
  header.writeUInt16LE(1, 10);
  header.writeUInt16LE(32, 12);
  header.writeUInt32LE(png.length, 14);
  header.writeUInt32LE(header.length, 18);
  return Buffer.concat([header, png]);
}

async function drawShop(file, width, height) {
  const page = await browser.newPage({ viewport: { width, height }, reducedMotion: "reduce" });
  await page.goto(shop, { waitUntil: "networkidle" });
  const picture = await page.screenshot();
  await page.close();
  await sharp(picture).png({ palette: true, effort: 10 }).toFile(file);
}

const paper = "#f8f5ef";
await drawIcon("favicon.ico", 32);
await drawIcon("apple-touch-icon.png", 180, { margin: 18, background: paper });
await drawIcon("icon-192.png", 192);
await drawIcon("icon-512.png", 512);
await drawIcon("icon-maskable-512.png", 512, { margin: 80, background: paper });
await drawShop("public/og.png", 1200, 630);
await drawShop("../docs/shop.png", 1440, 920);
await browser.close();
