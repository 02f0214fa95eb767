// The e-mails use only fonts that are installed with mail programs (see README.md). A build machine has none of them,
// so the previews are rendered with the free font that is most similar to the first font of each stack.
// The e-mails themselves do not contain these fonts.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const MODULES = join(dirname(fileURLToPath(import.meta.url)), "..", "node_modules");

/** One row per file: the family name in the e-mails, the package, the file name, the weights and the style. */
const FACES = [
  ["Georgia", "@fontsource-variable/gelasio", "gelasio-latin-wght-normal", "400 700", "normal"],
  ["Georgia", "@fontsource-variable/gelasio", "gelasio-latin-wght-italic", "400 700", "italic"],
  [
    "Big Caslon",
    "@fontsource/libre-caslon-display",
    "libre-caslon-display-latin-400-normal",
    "400",
    "normal",
  ],
  ["Futura", "@fontsource-variable/jost", "jost-latin-wght-normal", "100 900", "normal"],
  [
    "Cooper Black",
    "@fontsource-variable/fraunces",
    "fraunces-latin-full-normal",
    "100 900",
    "normal",
  ],
  ["Avenir Next", "@fontsource-variable/figtree", "figtree-latin-wght-normal", "300 900", "normal"],
  ["Avenir Next", "@fontsource-variable/figtree", "figtree-latin-wght-italic", "300 900", "italic"],
  [
    "Helvetica Neue",
    "@fontsource-variable/inter-tight",
    "inter-tight-latin-wght-normal",
    "100 900",
    "normal",
  ],
  [
    "Didot",
    "@fontsource-variable/bodoni-moda",
    "bodoni-moda-latin-opsz-normal",
    "400 900",
    "normal",
  ],
  [
    "Didot",
    "@fontsource-variable/bodoni-moda",
    "bodoni-moda-latin-opsz-italic",
    "400 900",
    "italic",
  ],
  ["Gill Sans", "@fontsource-variable/cabin", "cabin-latin-wght-normal", "400 700", "normal"],
  ["Gill Sans", "@fontsource-variable/cabin", "cabin-latin-wght-italic", "400 700", "italic"],
  ["Courier New", "@fontsource/courier-prime", "courier-prime-latin-400-normal", "400", "normal"],
  ["Courier New", "@fontsource/courier-prime", "courier-prime-latin-700-normal", "700", "normal"],
  [
    "Garamond",
    "@fontsource-variable/cormorant-garamond",
    "cormorant-garamond-latin-wght-normal",
    "300 700",
    "normal",
  ],
  [
    "Garamond",
    "@fontsource-variable/cormorant-garamond",
    "cormorant-garamond-latin-wght-italic",
    "300 700",
    "italic",
  ],
  [
    "Charter",
    "@fontsource-variable/source-serif-4",
    "source-serif-4-latin-opsz-normal",
    "200 900",
    "normal",
  ],
  [
    "Charter",
    "@fontsource-variable/source-serif-4",
    "source-serif-4-latin-opsz-italic",
    "200 900",
    "italic",
  ],
  ["Arial", "@fontsource-variable/arimo", "arimo-latin-wght-normal", "400 700", "normal"],
  [
    "Arial Black",
    "@fontsource-variable/archivo",
    "archivo-latin-standard-normal",
    "100 900",
    "normal",
    "62% 125%",
  ],
  [
    "Impact",
    "@fontsource-variable/archivo",
    "archivo-latin-standard-normal",
    "100 900",
    "normal",
    "62% 125%",
  ],
  [
    "Baskerville",
    "@fontsource-variable/baskervville",
    "baskervville-latin-wght-normal",
    "400 700",
    "normal",
  ],
  [
    "Baskerville",
    "@fontsource-variable/baskervville",
    "baskervville-latin-wght-italic",
    "400 700",
    "italic",
  ],
  ["Optima", "@fontsource/marcellus", "marcellus-latin-400-normal", "400", "normal"],
  [
    "Hoefler Text",
    "@fontsource-variable/eb-garamond",
    "eb-garamond-latin-wght-normal",
    "400 800",
    "normal",
  ],
  [
    "Hoefler Text",
    "@fontsource-variable/eb-garamond",
    "eb-garamond-latin-wght-italic",
    "400 800",
    "italic",
  ],
];

/**
 * The fonts that Windows has without further programs, and that the mails name: what is shown there, and by the web pages of
 * Gmail and Outlook, which load no font either. Gelasio, Arimo and Caladea have the widths of the fonts that they stand in for.
 */
const WINDOWS_FACES = [
  ...FACES.filter(([family]) =>
    ["Georgia", "Courier New", "Arial", "Arial Black", "Impact"].includes(family),
  ),
  [
    "Segoe UI",
    "@fontsource-variable/open-sans",
    "open-sans-latin-wght-normal",
    "300 800",
    "normal",
  ],
  [
    "Segoe UI",
    "@fontsource-variable/open-sans",
    "open-sans-latin-wght-italic",
    "300 800",
    "italic",
  ],
  ...fourFaces("Trebuchet MS", "fira-sans"),
  ...fourFaces("Cambria", "caladea"),
  ...fourFaces("Candara", "carlito"),
  ...fourFaces("Palatino Linotype", "gentium-book-plus"),
];

/** Returns the rows of a family with two weights and two styles. */
function fourFaces(family, name) {
  return ["400", "700"].flatMap((weight) =>
    ["normal", "italic"].map((style) => [
      family,
      `@fontsource/${name}`,
      `${name}-latin-${weight}-${style}`,
      weight,
      style,
    ]),
  );
}

/** The names of the fonts that Windows has. */
export const WINDOWS_FAMILIES = [...new Set(WINDOWS_FACES.map(([family]) => family))];

/** Returns the paths of missing font files; previews can be rendered if there are none. */
export function missingFonts() {
  return [...FACES, ...WINDOWS_FACES].map(fontPath).filter((path) => !existsSync(path));
}

/** Returns the `@font-face` rules for a page, with the files as data URIs: of designers' machines, or of Windows. */
export function fontFaces(machine = "designer") {
  return (machine === "windows" ? WINDOWS_FACES : FACES)
    .map((face) => {
      const [family, , , weight, style, stretch] = face;
      const data = readFileSync(fontPath(face)).toString("base64");
      const width = stretch ? `font-stretch:${stretch};` : "";
      return `@font-face{font-family:"${family}";font-style:${style};font-weight:${weight};${width}src:url(data:font/woff2;base64,${data}) format("woff2")}`;
    })
    .join("\n");
}

function fontPath([, pkg, stem]) {
  return join(MODULES, pkg, "files", `${stem}.woff2`);
}

/**
 * Draws a page with the fonts of a machine. For Windows, other names are removed from the lists of fonts: the machine that draws
 * may have fonts of these names, or replace them.
 *
 * @param {import("playwright-core").Page} page
 * @param {"designer" | "windows"} machine
 */
export async function setFonts(page, machine = "designer") {
  await page.addStyleTag({ content: fontFaces(machine) });
  if (machine === "windows") await page.evaluate(keepFamilies, WINDOWS_FAMILIES);
  await page.evaluate(() => Promise.all([...document.fonts].map((face) => face.load())));
}

/** Runs in the page. */
function keepFamilies(known) {
  const shown = [...document.querySelectorAll("body, body *")].map((element) => [
    element,
    getComputedStyle(element)
      .fontFamily.split(",")
      .map((name) => name.trim().replaceAll(/^["']|["']$/g, "")),
  ]);
  for (const [element, names] of shown) {
    const family = names.find((name) => known.includes(name));
    if (family) element.style.setProperty("font-family", `"${family}"`, "important");
  }
}
