// Builds what a buyer of a template gets: the files of its ZIP file.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { listMails } from "../list.mjs";
import { withFonts } from "./fonts.mjs";
import { guide } from "./guide.mjs";
import { digest, PICTURES, withPictures } from "./html.mjs";
import { changes, licence } from "./licence.mjs";
import { drawPng } from "./pictures.mjs";
import { parseEmail } from "./styles.mjs";

const SOURCES = join(dirname(fileURLToPath(import.meta.url)), "..");

/** The folder of the drawings that the pictures are made from. */
const DRAWINGS = "sources";

/** The name of the HTML file. */
export const HTML = "index.html";

/**
 * Returns the files of a product by name, in the order of its ZIP file. Each further mail, a letter of a series or another layout,
 * is a folder as complete as the root.
 */
export async function buildProduct(product) {
  const { folder } = product;
  const title = productTitle(folder);
  const mails = listMails(product).map((mail) => ({ ...mail, ...readMail(folder, mail.source) }));
  const [first, ...further] = mails;
  const html = withoutComments(first.html);
  const others = further.map(({ place, html }) => ({ place, html: withoutComments(html) }));
  const isSeries = product.letters !== undefined;
  const files = new Map([
    [HTML, first.html],
    ["plain-text.txt", first.text],
    ["GUIDE.txt", guide({ title, html, fonts: fontPaths(mails), others, isSeries })],
    ["LICENSE.txt", licence({ title })],
    ["CHANGELOG.txt", changes({ title, mails: mails.length, isSeries })],
  ]);
  for (const { place, html, text, pictures, fonts } of mails) {
    if (place) files.set(`${place}${HTML}`, html).set(`${place}plain-text.txt`, text);
    for (const { file, read } of fonts) files.set(`${place}${file}`, read());
    for (const { file, svg, width } of pictures) {
      files.set(`${place}${PICTURES}/${file}`, await drawPng(svg, { width }));
      const drawing = file.replace(/\.png$/, ".svg");
      files.set(`${place}${DRAWINGS}/${drawing}`, asDocument(svg));
    }
  }
  return files;
}

/** Reads a mail: its HTML with pictures in place of drawings and with its fonts, both, and its plain text. */
function readMail(folder, source) {
  const read = (file) => readFileSync(join(SOURCES, folder, file), "utf8");
  const { html, pictures } = withPictures(read(`${source}.html`));
  return { ...withFonts(html), pictures, text: read(`${source}.txt`) };
}

/** Returns the paths of the font files of the mails, each file once: a further mail often carries those of the first. */
function fontPaths(mails) {
  const paths = new Map();
  for (const { place, fonts } of mails) {
    for (const { file } of fonts) if (!paths.has(file)) paths.set(file, `${place}${file}`);
  }
  return [...paths.values()];
}

/** Returns a digest of what a product shows: its HTML, the drawings of its pictures, and its fonts. */
export function appearanceDigest(product) {
  const mails = listMails(product).map(({ source }) => readMail(product.folder, source));
  const parts = mails.flatMap(({ html, pictures, fonts }) => [
    html,
    ...pictures.map(({ svg }) => svg),
    ...fonts.map(({ read }) => digest(read())),
  ]);
  return digest(parts.join("\0"));
}

/** Returns a drawing as a file of its own, which names its language. */
function asDocument(svg) {
  const named = svg.includes("xmlns=")
    ? svg
    : svg.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"');
  return `${named}\n`;
}

/** The name of a product's ZIP file. */
export function zipName({ folder }) {
  return `${folder}.zip`;
}

/** `Survey and Feedback` for `07-survey-and-feedback`. */
function productTitle(folder) {
  const words = folder.split("-").slice(1);
  return words
    .map((word) => (word === "and" ? word : word[0].toUpperCase() + word.slice(1)))
    .join(" ");
}

/** The e-mail without what only Outlook reads. */
function withoutComments(html) {
  const page = parseEmail(html);
  return page.documentElement.outerHTML.replace(/<!--\[if mso\]>[\s\S]*?<!\[endif\]-->/g, "");
}
