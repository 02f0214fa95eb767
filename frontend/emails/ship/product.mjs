// Builds what a buyer of a template gets: the files of its ZIP file.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
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

/** Returns the files of a product by name, in the order of its ZIP file. */
export async function buildProduct({ folder }) {
  const read = (file) => readFileSync(join(SOURCES, folder, file), "utf8");
  const { html, pictures } = withPictures(read("index.html"));
  const title = productTitle(folder);
  const files = new Map([
    [HTML, html],
    ["plain-text.txt", read("index.txt")],
    ["GUIDE.txt", guide({ title, html: withoutComments(html) })],
    ["LICENSE.txt", licence({ title })],
    ["CHANGELOG.txt", changes({ title })],
  ]);
  for (const { file, svg, width } of pictures) {
    files.set(`${PICTURES}/${file}`, await drawPng(svg, { width }));
    files.set(`${DRAWINGS}/${file.replace(/\.png$/, ".svg")}`, asDocument(svg));
  }
  return files;
}

/** Returns a digest of what a product shows: its HTML and the drawings of its pictures. */
export function appearanceDigest({ folder }) {
  const { html, pictures } = withPictures(
    readFileSync(join(SOURCES, folder, "index.html"), "utf8"),
  );
  return digest([html, ...pictures.map(({ svg }) => svg)].join("\0"));
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
