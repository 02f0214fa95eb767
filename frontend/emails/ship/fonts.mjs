// Adds the fonts that a mail carries: rules that load their files, and for Outlook, which would show Times New Roman in their place,
// rules that name the next font of each list.
import { readFileSync } from "node:fs";
import { fontLicencePath, fontPath, OUTLOOK_FAMILIES, WEB_FACES } from "../fonts.mjs";
import { parseEmail, shownFont } from "./styles.mjs";

/** The folder of the fonts beside the HTML file. */
export const FONTS = "fonts";

const WEB_FAMILIES = new Set(WEB_FACES.map(([family]) => family));
const OUTLOOK = "<!--[if mso]>\n<noscript>";
/** A tag with a list of fonts in its style. */
const FONT_TAG = /<[a-z]\w*\s[^<>]*style="[^"]*font(?:-family)?:[^"]*"[^<>]*>/g;

/**
 * Returns the HTML, and the files that it names: `file`, and `read` for its content. A style sheet of its own has the rules, because mail
 * programs that know none of them leave out the whole sheet.
 */
export function withFonts(html) {
  const faces = usedFaces(parseEmail(html));
  const rules = faces.map((face) => {
    const [family, , , weight, style, stretch] = face;
    const width = stretch ? ` font-stretch: ${stretch};` : "";
    return `  @font-face { font-family: "${family}"; font-style: ${style}; font-weight: ${weight};${width} font-display: swap; src: url("${FONTS}/${fileName(face)}") format("woff2"); }\n`;
  });
  const sheet = `<!--[if !mso]><!-->\n<style>\n${rules.join("")}</style>\n<!--<![endif]-->\n`;
  const { marked, outlook } = markFonts(html);
  return {
    html: marked.replace(OUTLOOK, () => `${sheet}<!--[if mso]>\n${outlook}<noscript>`),
    fonts: faces.flatMap((face) => [
      { file: `${FONTS}/${fileName(face)}`, read: () => readFileSync(fontPath(face)) },
      { file: `${FONTS}/${name(face)}-OFL.txt`, read: () => readFileSync(fontLicencePath(face)) },
    ]),
  };
}

/** Returns the faces that the texts of a page show, in the order of the table. */
function usedFaces(page) {
  const shown = new Set(
    [...page.querySelectorAll("body *")].filter(hasText).map((element) => {
      const { family, style } = shownFont(element);
      return `${family} ${style}`;
    }),
  );
  return WEB_FACES.filter(([family, , , , style]) => shown.has(`${family} ${style}`));
}

function hasText({ childNodes }) {
  return [...childNodes].some(({ nodeType, textContent }) => nodeType === 3 && textContent.trim());
}

/** Gives each tag that names a font of the mail a class, and returns the sheet by which Outlook shows the first font of the list that it finds. */
function markFonts(html) {
  const stacks = [];
  const marked = html.replace(FONT_TAG, (tag) => {
    const [, list] = tag.match(/font(?:-family:|:[^;"]*?px(?:\/\S+)? )([^;"]*)/) ?? [];
    const families = (list ?? "").split(",");
    if (!WEB_FAMILIES.has(unquoted(families[0]))) return tag;
    const first = families.findIndex((family) => OUTLOOK_FAMILIES.includes(unquoted(family)));
    const stack = families.slice(first).join(", ").replaceAll("'", '"');
    if (!stacks.includes(stack)) stacks.push(stack);
    return withClass(tag, `font-${stacks.indexOf(stack) + 1}`);
  });
  const rules = stacks.map(
    (stack, at) => `.font-${at + 1} { font-family: ${stack} !important; }\n`,
  );
  return { marked, outlook: `<style>\n${rules.join("")}</style>\n` };
}

function withClass(tag, name) {
  if (/\sclass="/.test(tag)) return tag.replace(/\sclass="([^"]*)"/, ` class="$1 ${name}"`);
  return tag.replace(/\sstyle="/, ` class="${name}" style="`);
}

function unquoted(family) {
  return family.trim().replaceAll("'", "");
}

/** `bodoni-moda` for Bodoni Moda. */
function name([family]) {
  return family.toLowerCase().replaceAll(" ", "-");
}

function fileName(face) {
  return `${name(face)}${face[4] === "italic" ? "-italic" : ""}.woff2`;
}
