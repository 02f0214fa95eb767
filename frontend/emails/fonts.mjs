// The faces of the e-mails. Each mail names an open face first and carries its files (see README.md). Behind it are the faces of designers' machines
// and of Windows, for mail programs that load no font. A build machine has none of those: pages are drawn with open faces of the same widths
// in their place, and the view "Windows" with the nearest ones.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const MODULES = join(dirname(fileURLToPath(import.meta.url)), "..", "node_modules");

/** One row per file that mails carry: the family name in the e-mails, the package, the file name, the weights, the style, and the widths. */
export const WEB_FACES = [
  [
    "Libre Caslon Display",
    "@fontsource/libre-caslon-display",
    "libre-caslon-display-latin-400-normal",
    "400",
    "normal",
  ],
  ["Jost", "@fontsource-variable/jost", "jost-latin-wght-normal", "100 900", "normal"],
  ["Fraunces", "@fontsource-variable/fraunces", "fraunces-latin-full-normal", "100 900", "normal"],
  ["Figtree", "@fontsource-variable/figtree", "figtree-latin-wght-normal", "300 900", "normal"],
  ["Figtree", "@fontsource-variable/figtree", "figtree-latin-wght-italic", "300 900", "italic"],
  [
    "Inter Tight",
    "@fontsource-variable/inter-tight",
    "inter-tight-latin-wght-normal",
    "100 900",
    "normal",
  ],
  [
    "Bodoni Moda",
    "@fontsource-variable/bodoni-moda",
    "bodoni-moda-latin-opsz-normal",
    "400 900",
    "normal",
  ],
  [
    "Bodoni Moda",
    "@fontsource-variable/bodoni-moda",
    "bodoni-moda-latin-opsz-italic",
    "400 900",
    "italic",
  ],
  ["Cabin", "@fontsource-variable/cabin", "cabin-latin-wght-normal", "400 700", "normal"],
  ["Cabin", "@fontsource-variable/cabin", "cabin-latin-wght-italic", "400 700", "italic"],
  [
    "Cormorant Garamond",
    "@fontsource-variable/cormorant-garamond",
    "cormorant-garamond-latin-wght-normal",
    "300 700",
    "normal",
  ],
  [
    "Cormorant Garamond",
    "@fontsource-variable/cormorant-garamond",
    "cormorant-garamond-latin-wght-italic",
    "300 700",
    "italic",
  ],
  [
    "Source Serif 4",
    "@fontsource-variable/source-serif-4",
    "source-serif-4-latin-opsz-normal",
    "200 900",
    "normal",
  ],
  [
    "Source Serif 4",
    "@fontsource-variable/source-serif-4",
    "source-serif-4-latin-opsz-italic",
    "200 900",
    "italic",
  ],
  [
    "Baskervville",
    "@fontsource-variable/baskervville",
    "baskervville-latin-wght-normal",
    "400 700",
    "normal",
  ],
  [
    "Baskervville",
    "@fontsource-variable/baskervville",
    "baskervville-latin-wght-italic",
    "400 700",
    "italic",
  ],
  ["Marcellus", "@fontsource/marcellus", "marcellus-latin-400-normal", "400", "normal"],
  [
    "EB Garamond",
    "@fontsource-variable/eb-garamond",
    "eb-garamond-latin-wght-normal",
    "400 800",
    "normal",
  ],
  [
    "EB Garamond",
    "@fontsource-variable/eb-garamond",
    "eb-garamond-latin-wght-italic",
    "400 800",
    "italic",
  ],
  [
    "Archivo",
    "@fontsource-variable/archivo",
    "archivo-latin-standard-normal",
    "100 900",
    "normal",
    "62% 125%",
  ],
];

/** The same for fonts that mail programs have and build machines lack: open faces of the same widths in their place. */
const STAND_INS = [
  ["Georgia", "@fontsource-variable/gelasio", "gelasio-latin-wght-normal", "400 700", "normal"],
  ["Georgia", "@fontsource-variable/gelasio", "gelasio-latin-wght-italic", "400 700", "italic"],
  ["Courier New", "@fontsource/courier-prime", "courier-prime-latin-400-normal", "400", "normal"],
  ["Courier New", "@fontsource/courier-prime", "courier-prime-latin-700-normal", "700", "normal"],
  ["Arial", "@fontsource-variable/arimo", "arimo-latin-wght-normal", "400 700", "normal"],
];

/**
 * The fonts that Windows has without further programs, and that the mails name: what is shown there, and by the web pages of
 * Gmail and Outlook, which load no font either. Gelasio, Arimo and Caladea have the widths of the fonts that they stand in for.
 */
const WINDOWS_FACES = [
  ...STAND_INS,
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

/** The names of the fonts that Outlook for Windows finds: those of Windows, and those that come with Office. */
export const OUTLOOK_FAMILIES = [
  ...WINDOWS_FAMILIES,
  "Century Gothic",
  "Gill Sans MT",
  "Garamond",
  "Book Antiqua",
];

/** Returns the paths of missing font files; previews can be rendered if there are none. */
export function missingFonts() {
  return [...WEB_FACES, ...STAND_INS, ...WINDOWS_FACES]
    .map(fontPath)
    .filter((path) => !existsSync(path));
}

/** Returns the `@font-face` rules of the fonts of a machine, with the files as data URIs: those that every machine has, or all of Windows. */
export function fontFaces(machine = "any") {
  return (machine === "windows" ? WINDOWS_FACES : STAND_INS)
    .map((face) => {
      const [family, , , weight, style, stretch] = face;
      const data = readFileSync(fontPath(face)).toString("base64");
      const width = stretch ? `font-stretch:${stretch};` : "";
      return `@font-face{font-family:"${family}";font-style:${style};font-weight:${weight};${width}src:url(data:font/woff2;base64,${data}) format("woff2")}`;
    })
    .join("\n");
}

/** Returns the path of the file of a face. */
export function fontPath([, pkg, stem]) {
  return join(MODULES, pkg, "files", `${stem}.woff2`);
}

/** Returns the path of the licence of a face. */
export function fontLicencePath([, pkg]) {
  return join(MODULES, pkg, "LICENSE");
}

/**
 * Draws a page with the fonts that it carries, and those of a machine. For Windows, other names are removed from the lists of fonts, because
 * Gmail and Outlook load none; the machine that draws may have fonts of these names, or replace them. It fails if a file cannot be loaded.
 *
 * @param {import("playwright-core").Page} page
 * @param {"any" | "windows"} machine
 */
export async function setFonts(page, machine = "any") {
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
