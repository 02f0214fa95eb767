// Turns the source of an e-mail into the HTML that buyers get: pictures in place of drawings, the rest as it is.
import { createHash } from "node:crypto";
import { findDrawings, isPaint } from "./pictures.mjs";
import { contrast, darkBlock, parseEmail, parseRules, shownColours } from "./styles.mjs";

/** The folder of the pictures beside the HTML file. */
export const PICTURES = "images";

/** Text colours of alternative texts, by which contrasts more with what is behind a picture. */
const INKS = ["#1a1a1a", "#ffffff"];
const ALT_FONT = "font:400 16px/22px Arial,Helvetica,sans-serif";

/**
 * Returns the HTML, and its pictures: `file` and the drawing that it shows.
 * A drawing with other colours in dark mailboxes becomes two pictures, of which one is shown.
 */
export function withPictures(html) {
  const drawings = findDrawings(html);
  const inks = alternativeInks(html);
  if (drawings.length !== inks.length)
    throw new Error("a drawing is not hidden from Outlook by comments");
  const pictures = [];
  let result = "";
  let end = 0;
  drawings.forEach((drawing, index) => {
    const name = `picture-${index + 1}`;
    const files = { light: `${name}.png`, dark: drawing.dark ? `${name}-dark.png` : undefined };
    pictures.push({ file: files.light, svg: drawing.light, width: drawing.width });
    if (files.dark) pictures.push({ file: files.dark, svg: drawing.dark, width: drawing.width });
    result += html.slice(end, drawing.place[0]) + imageElements(drawing, files, inks[index]);
    end = drawing.place[1];
  });
  return { html: withPictureRules(result + html.slice(end)), pictures };
}

/** Returns for each drawing the text colours that can be read behind it, in light and dark mailboxes. */
function alternativeInks(html) {
  const rules = parseRules(darkBlock(html).css);
  return [...parseEmail(html).querySelectorAll("svg")].map((drawing) => {
    const ink = (scheme) => {
      const { background } = shownColours(drawing.parentElement, scheme);
      return INKS.toSorted((a, b) => contrast(b, background) - contrast(a, background))[0];
    };
    return { light: ink([]), dark: ink(rules) };
  });
}

function imageElements(drawing, files, ink) {
  if (!files.dark) {
    const classes = ink.light === ink.dark ? [] : [`alt-${ink.dark === INKS[0] ? "ink" : "paper"}`];
    return image(drawing, files.light, classes, ink.light, "");
  }
  const light = image(drawing, files.light, ["by-day"], ink.light, "");
  const dark = image(drawing, files.dark, ["by-night"], ink.dark, "display:none;mso-hide:all;");
  return `${light}\n<!--[if !mso]><!-->${dark}<!--<![endif]-->`;
}

function image({ title, width, height, className, style }, file, classes, ink, hidden) {
  const all = [...(className ? [className] : []), ...classes].join(" ");
  const shown = hidden ? style.replace(/^display:block;/, hidden) : style;
  return (
    `<img src="${PICTURES}/${file}" alt="${title.replaceAll('"', "&quot;")}"${all ? ` class="${all}"` : ""}` +
    ` width="${width}" height="${height}" border="0" style="${shown};${ALT_FONT};color:${ink}">`
  );
}

/** Replaces the rules that paint drawings by rules that choose between pictures. */
function withPictureRules(html) {
  const { start, end, css } = darkBlock(html);
  const kept = parseRules(css).filter((rule) => !isPaint(rule));
  const lines = kept.map(({ selector, declarations }) => ruleText(selector, declarations));
  if (html.includes('"by-day') || html.includes(" by-day")) {
    lines.push(".by-day { display: none !important; }", ".by-night { display: block !important; }");
  }
  if (html.includes("alt-ink")) lines.push(`.alt-ink { color: ${INKS[0]} !important; }`);
  if (html.includes("alt-paper")) lines.push(`.alt-paper { color: ${INKS[1]} !important; }`);
  const block = `\n${lines.map((line) => `    ${line}\n`).join("")}  `;
  return (html.slice(0, start) + block + html.slice(end)).replaceAll(".thumb svg", ".thumb img");
}

function ruleText(selector, declarations) {
  const body = Object.entries(declarations).map(([name, value]) => `${name}: ${value} !important;`);
  return `${selector} { ${body.join(" ")} }`;
}

/** Returns the SHA-256 of bytes, in hexadecimal digits. */
export function digest(bytes) {
  return createHash("sha256").update(bytes).digest("hex");
}
