// Reduces the two font families of the shop to the used characters and weights: Latin-1 with weights 400 to
// 600 for text, ASCII with weights 400 to 500 for headings. Saves 20 kB.
// Run it after an upgrade of a font package: node scripts/cut-fonts.mjs
import { readFile, writeFile } from "node:fs/promises";
import subsetFont from "subset-font";

const PUNCTUATION = "–—‘’“”…★";

const CUTS = [
  { family: "besley", letters: span(0x20, 0x7e), wght: { min: 400, max: 500 } },
  {
    family: "libre-franklin",
    letters: span(0x20, 0x7e) + span(0xa0, 0xff),
    wght: { min: 400, max: 600 },
  },
];

for (const { family, letters, wght } of CUTS) {
  const file = `node_modules/@fontsource-variable/${family}/files/${family}-latin-wght-normal.woff2`;
  const cut = await subsetFont(await readFile(file), letters + PUNCTUATION, {
    targetFormat: "woff2",
    variationAxes: { wght },
  });
  await writeFile(`src/fonts/${family}.woff2`, cut);
}

/** Returns all characters from one code to another, inclusive. */
function span(from, to) {
  return String.fromCodePoint(...Array.from({ length: to - from + 1 }, (_, step) => from + step));
}
