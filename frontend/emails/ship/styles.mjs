// Reads the styles of an e-mail: inline styles, and the rules of its style sheet for dark mailboxes.
import { Window } from "happy-dom";

const DARK = "@media (prefers-color-scheme: dark) {";
/** What a mail program shows where nothing sets a colour. */
const DEFAULT = { color: "#000000", background: "#ffffff" };

/** Parses an e-mail as a browser does; the conditional comments of Outlook stay comments. */
export function parseEmail(html) {
  return new new Window().DOMParser().parseFromString(html, "text/html");
}

/** Returns the text between the braces of the rules for dark mailboxes, with its place in the e-mail. */
export function darkBlock(html) {
  const start = html.indexOf(DARK);
  if (start < 0) throw new Error("the e-mail has no styles for dark mailboxes");
  let depth = 1;
  let end = start + DARK.length;
  for (; depth > 0; end++) depth += { "{": 1, "}": -1 }[html[end]] ?? 0;
  return {
    start: start + DARK.length,
    end: end - 1,
    css: html.slice(start + DARK.length, end - 1),
  };
}

/** Parses rules without nesting: a selector and its declarations each. */
export function parseRules(css) {
  return [...css.matchAll(/([^{}]+)\{([^{}]*)\}/g)].map(([, selector, body]) => ({
    selector: selector.trim(),
    declarations: parseDeclarations(body),
  }));
}

/** Parses declarations into a table; `!important` is left out. */
function parseDeclarations(text) {
  const pairs = text.split(";").map((part) => part.split(/:(.*)/s).map((side) => side?.trim()));
  return Object.fromEntries(
    pairs
      .filter(([name, value]) => name && value)
      .map(([name, value]) => [name, value.replace(/\s*!important$/, "")]),
  );
}

/** Returns the colours that an element shows: of its text, and behind it. `rules` are those of a dark mailbox. */
export function shownColours(element, rules = []) {
  return {
    color: findValue(element, rules, textColour) ?? DEFAULT.color,
    background: findValue(element, rules, backgroundColour) ?? DEFAULT.background,
  };
}

/** Returns the first font that an element names for its text, and its style: `normal` or `italic`. Declarations of one tag are read in their order. */
export function shownFont(element) {
  const family = findValue(element, [], ({ font, "font-family": list }) => list ?? fontList(font));
  const style = findValue(element, [], ({ font, "font-style": given }) => {
    if (given) return given;
    return font && (/\b(?:italic|oblique)\b/.test(font.split(/\d+px/)[0]) ? "italic" : "normal");
  });
  const isEmphasis = element.closest("em, i, cite") !== null;
  return {
    family: family?.split(",")[0].replaceAll(/["']/g, "").trim(),
    style: isEmphasis ? "italic" : (style ?? "normal"),
  };
}

function fontList(font) {
  return font?.match(/px(?:\/\S+)?\s+(.*)/)?.[1];
}

/** Returns the value of the nearest element that has one. */
function findValue(element, rules, read) {
  for (let at = element; at; at = at.parentElement) {
    const overriding = rules.filter(({ selector }) => at.matches(selector));
    const value =
      overriding.map(({ declarations }) => read(declarations)).findLast(Boolean) ??
      read(parseDeclarations(at.getAttribute("style") ?? "")) ??
      (read === backgroundColour ? at.getAttribute("bgcolor") : undefined);
    if (value) return value;
  }
  return undefined;
}

function textColour(declarations) {
  return declarations.color;
}

/** The colour, or the first colour of a gradient. */
function backgroundColour(declarations) {
  for (const name of ["background-image", "background-color", "background"]) {
    const colour = declarations[name]?.match(/#[0-9a-f]{3,6}\b/i);
    if (colour) return colour[0];
  }
  return undefined;
}

/** Returns the contrast of two colours (WCAG 2.2). */
export function contrast(one, two) {
  const [light, dark] = [luminance(one), luminance(two)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour) {
  const digits = colour.slice(1);
  const long = digits.length === 3 ? [...digits].map((digit) => digit + digit).join("") : digits;
  const [red, green, blue] = [0, 2, 4].map((at) => {
    const share = Number.parseInt(long.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
