// Turns the drawings of an e-mail into PNG files. The rasteriser comes with the package sharp, so that the same drawing
// gives the same bytes; drawings contain no text, whose fonts a machine may lack.
import sharp from "sharp";
import { darkBlock, parseRules } from "./styles.mjs";

/** A drawing with the comments that hide it from Outlook, and the replacement there. */
const DRAWING =
  /(?:<!--\[if mso\]>(?:(?!<!\[endif\]-->)[\s\S])*<!\[endif\]-->\s*)?<!--\[if !mso\]><!-->\s*(<svg\b[\s\S]*?<\/svg>)\s*<!--<!\[endif\]-->/g;

/** Pixels of the file per pixel of the e-mail. */
const DENSITY = 2;
const PAINT = new Set(["fill", "stroke", "stop-color"]);

/** Returns the drawings of an e-mail in their order: place, attributes, and the source for light and dark mailboxes. */
export function findDrawings(html) {
  const painting = parseRules(darkBlock(html).css).filter(isPaint);
  return [...html.matchAll(DRAWING)].map((match) => {
    const svg = match[1];
    if (svg.includes("<text"))
      throw new Error("a drawing contains text: draw its letters as paths");
    const [tag] = svg.match(/<svg\b[^>]*>/);
    const attribute = (name) => tag.match(new RegExp(`\\s${name}="([^"]*)"`))?.[1];
    const rules = painting.filter(({ selector }) => usesClass(svg, selector.slice(1)));
    return {
      place: [match.index, match.index + match[0].length],
      title: svg.match(/<title[^>]*>([\s\S]*?)<\/title>/)?.[1] ?? "",
      width: Number(attribute("width")),
      height: Number(attribute("height")),
      className: attribute("class"),
      style: attribute("style"),
      light: svg,
      dark: rules.length > 0 ? withRules(svg, tag, rules) : undefined,
    };
  });
}

/** Whether a rule only paints drawings, and thus has no effect on PNG files. */
export function isPaint({ declarations }) {
  return Object.keys(declarations).every((name) => PAINT.has(name));
}

function usesClass(svg, name) {
  return new RegExp(`class="(?:[^"]* )?${name}(?: [^"]*)?"`).test(svg);
}

function withRules(svg, tag, rules) {
  const css = rules.map(({ selector, declarations }) => {
    const paints = Object.entries(declarations).map(
      ([name, value]) => `${name}:${value}!important`,
    );
    return `${selector}{${paints.join(";")}}`;
  });
  return svg.replace(tag, () => `${tag}<style>${css.join("")}</style>`);
}

/** Draws a drawing as PNG with at most 256 colours. */
export async function drawPng(svg, { width }) {
  const drawn = sharp(Buffer.from(svg), { density: 72 * DENSITY }).resize({
    width: width * DENSITY,
  });
  return drawn
    .png({ palette: true, quality: 95, effort: 10, dither: 0.4, compressionLevel: 9 })
    .toBuffer();
}
