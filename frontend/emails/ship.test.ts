import { crc32, inflateRawSync } from "node:zlib";
import sharp from "sharp";
import { beforeAll, describe, expect, it } from "vitest";
import { listPlainTexts } from "../build/site-files.ts";
import { readBuiltInCatalogue } from "../src/shared/templates/built-in.ts";
import { findTemplate } from "../src/shared/templates/catalogue.ts";
import { builtInPreviews } from "../src/shared/templates/use-preview.ts";
import { OUTLOOK_FAMILIES, WEB_FACES } from "./fonts.mjs";
import { EMAILS, listMails } from "./list.mjs";
import rendered from "./rendered.json" with { type: "json" };
import { appearanceDigest, buildProduct, zipName } from "./ship/product.mjs";
import { contrast, darkBlock, parseEmail, parseRules, shownColours } from "./ship/styles.mjs";
import { zip } from "./ship/zip.mjs";

/** Gmail cuts off what follows. */
const GMAIL_LIMIT = 102_000;
/** From this price on, a product holds more than one mail, in dollars. */
const MORE_MAILS_FROM = 100;
/** Large text may have less contrast (WCAG 2.2, 1.4.3). */
const LARGE = 24;

/** Reads a ZIP file by its directory, as programs do. */
function unzip(bytes: Buffer): Map<string, Buffer> {
  const end = bytes.length - 22;
  expect(bytes.readUInt32LE(end)).toBe(0x06054b50);
  const files = new Map<string, Buffer>();
  let at = bytes.readUInt32LE(end + 16);
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left--) {
    expect(bytes.readUInt32LE(at)).toBe(0x02014b50);
    const [method, size, full] = [10, 20, 24].map((offset) => bytes.readUInt32LE(at + offset));
    const nameLength = bytes.readUInt16LE(at + 28);
    const name = bytes.toString("utf8", at + 46, at + 46 + nameLength);
    const local = bytes.readUInt32LE(at + 42);
    expect(bytes.readUInt32LE(local)).toBe(0x04034b50);
    const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    const data = bytes.subarray(start, start + (size ?? 0));
    const content = (method ?? 0) % 65_536 === 8 ? inflateRawSync(data) : Buffer.from(data);
    expect(content.length).toBe(full);
    expect(crc32(content)).toBe(bytes.readUInt32LE(at + 16));
    files.set(name, content);
    at += 46 + nameLength;
  }
  return files;
}

const products = new Map<number, Promise<Map<string, Buffer>>>();

/** Returns the files of a ZIP, which is made once for all its letters and layouts. */
function productOf(email: (typeof EMAILS)[number]): Promise<Map<string, Buffer>> {
  const made = products.get(email.id) ?? buildProduct(email).then((files) => unzip(zip(files)));
  products.set(email.id, made);
  return made;
}

/** The font files that a sheet names. */
function fontFiles(css: string): string[] {
  return [...css.matchAll(/url\("(fonts\/[^"]*)"\)/g)].map(([, file]) => file ?? "");
}

function clean(text: string | null | undefined): string {
  return (text ?? "").replace(/\s+/g, " ").trim();
}

/** The elements whose own text somebody reads. */
function textElements(page: Document): Element[] {
  return [...page.querySelectorAll("td, p, h1, h2, h3, a, span, strong, em, s, li")].filter(
    (element) =>
      [...element.childNodes].some(
        (node) => node.nodeType === 3 && /[\p{L}\p{N}]/u.test(node.textContent ?? ""),
      ),
  );
}

function fontSize(element: Element): number {
  for (let at: Element | null = element; at; at = at.parentElement) {
    const size = at.getAttribute("style")?.match(/font(?:-size)?:[^;]*?(\d+)px/)?.[1];
    if (size) return Number(size);
  }
  return 16;
}

const MAILS = EMAILS.flatMap((email) =>
  listMails(email).map(({ place }) => ({ folder: email.folder, email, place })),
);

describe.each(MAILS)("$folder/$place", ({ email, place }) => {
  let files: Map<string, Buffer>;
  let html: string;
  let page: Document;
  let guide: string;

  beforeAll(async () => {
    files = await productOf(email);
    const text = (name: string) => files.get(name)?.toString("utf8") ?? "";
    html = text(`${place}index.html`);
    guide = text("GUIDE.txt");
    page = parseEmail(html);
  });

  it("has HTML, plain text, and the pictures that the HTML names; the root has guide and licence", () => {
    const pictures = [...page.querySelectorAll("img")].map((picture) =>
      picture.getAttribute("src"),
    );
    expect(new Set(pictures).size).toBe(pictures.length);
    const own = [
      "index.html",
      "plain-text.txt",
      ...pictures,
      ...pictures.map((name) => name?.replace("images/", "sources/").replace(".png", ".svg")),
      ...fontFiles(html),
      ...fontFiles(html).map((name) => name.replace(/(?:-italic)?\.woff2$/, "-OFL.txt")),
    ].map((name) => `${place}${name}`);
    if (place === "") own.push("GUIDE.txt", "LICENSE.txt", "CHANGELOG.txt");
    const isOfLetter = /^(?:letter|layout)-\d\//;
    const found = [...files.keys()].filter((name) =>
      place ? name.startsWith(place) : !isOfLetter.test(name),
    );
    expect(found.sort()).toEqual([...new Set(own)].sort());
    expect(files.get(`${place}plain-text.txt`)?.length).toBeGreaterThan(500);
  });

  it("states its version and what changed", () => {
    const changes = files.get("CHANGELOG.txt")?.toString("utf8") ?? "";
    expect(changes).toMatch(/\n\n1\.3\n- /);
    expect(changes.includes("3 letters")).toBe(email.id === 3);
    const layouts = 1 + (email.layouts?.length ?? 0);
    expect(changes.includes(`- ${layouts} layouts`)).toBe(layouts > 1);
    expect(guide.includes("another layout")).toBe(layouts > 1);
  });

  it("is what the pictures of the shop show", () => {
    const known: Record<string, string> = rendered;
    expect(known[email.folder], "run npm run emails:render").toBe(appearanceDigest(email));
  });

  // Of all letters of a product there is one ZIP.
  it.runIf(place === "")("gives the same bytes each time", async () => {
    expect(zip(await buildProduct(email)).equals(zip([...files]))).toBe(true);
    expect(zipName(email)).toBe(`${email.folder}.zip`);
  });

  it("is not cut off by Gmail, and its pictures are light", () => {
    expect(files.get(`${place}index.html`)?.length).toBeLessThan(GMAIL_LIMIT);
    const pictures = [...files].filter(([name]) => name.endsWith(".png"));
    for (const [, bytes] of pictures) expect(bytes.length).toBeLessThan(120_000);
  });

  it("has no drawing, script, form or request in the HTML", () => {
    expect(html).not.toMatch(
      /<svg|<\/svg|<script|<iframe|<object|<embed|<form|javascript:|\son\w+\s*=/i,
    );
    expect(html).not.toMatch(/@import|<link\b|\ssrcset=/i);
    for (const [, address] of html.matchAll(/url\(([^)]*)\)/g))
      expect(address).toMatch(/^"fonts\/[a-z0-9-]+\.woff2"$/);
    for (const element of page.querySelectorAll("[src], [background]")) {
      expect(element.getAttribute("src")).toMatch(/^images\/[a-z0-9-]+\.png$/);
    }
  });

  it("has PNG files of double size with alternative texts", async () => {
    for (const picture of page.querySelectorAll("img")) {
      const bytes = files.get(`${place}${picture.getAttribute("src")}`);
      const { format, width, height } = await sharp(bytes).metadata();
      const [shownWidth, shownHeight] = ["width", "height"].map((name) =>
        Number(picture.getAttribute(name)),
      );
      expect([format, width]).toEqual(["png", 2 * (shownWidth ?? 0)]);
      if (clean(picture.getAttribute("alt")) === "") expect(shownHeight).toBeLessThan(30);
      else expect(Math.abs((height ?? 0) - 2 * (shownHeight ?? 0))).toBeLessThanOrEqual(4);
    }
  });

  it("shows a readable text in place of a picture", () => {
    const rules = parseRules(darkBlock(html).css);
    for (const picture of page.querySelectorAll("img")) {
      expect(picture.getAttribute("alt")).not.toBeNull();
      expect(picture.getAttribute("style")).toMatch(/font:400 16px\/22px/);
      const isDay = picture.classList.contains("by-day");
      const isNight = picture.classList.contains("by-night");
      const schemes = [...(isNight ? [] : [[]]), ...(isDay ? [] : [rules])];
      for (const scheme of schemes) {
        const { color, background } = shownColours(picture, scheme);
        expect(contrast(color, background)).toBeGreaterThanOrEqual(4.5);
      }
    }
  });

  it("shows one of two pictures in dark mailboxes, and the light one in Outlook", () => {
    const [days, nights] = [".by-day", ".by-night"].map((name) => [...page.querySelectorAll(name)]);
    expect(nights?.map((picture) => picture.getAttribute("alt"))).toEqual(
      days?.map((picture) => picture.getAttribute("alt")),
    );
    for (const night of nights ?? [])
      expect(night.getAttribute("style")).toMatch(/^display:none;mso-hide:all/);
    const hidden =
      html.match(/<!--\[if !mso\]><!--><img[^>]*by-night[^>]*><!--<!\[endif\]-->/g) ?? [];
    expect(hidden).toHaveLength(nights?.length ?? 0);
    expect(html).not.toMatch(/<!--\[if !mso\]><!-->\s*<img(?![^>]*by-night)/);
    const { css } = darkBlock(html);
    expect(css.includes(".by-day { display: none")).toBe((days?.length ?? 0) > 0);
    expect(css).not.toMatch(/[{;]\s*(fill|stroke|stop-color):/);
  });

  it("has text with enough contrast in light and dark mailboxes", () => {
    for (const scheme of [[], parseRules(darkBlock(html).css)]) {
      for (const element of textElements(page)) {
        if (element.closest("[style*='display:none']")) continue;
        const { color, background } = shownColours(element, scheme);
        const needed = fontSize(element) >= LARGE ? 3 : 4.5;
        expect(
          contrast(color, background),
          `${clean(element.textContent)}: ${color} on ${background}`,
        ).toBeGreaterThanOrEqual(needed);
      }
    }
  });

  it("keeps the tables of Outlook and balances its comments", () => {
    expect(html).toMatch(/<!--\[if mso\]><table role="presentation" width="600"/);
    expect(html).toContain("<!--[if mso]></td></tr></table><![endif]-->");
    expect(html.match(/<!--\[if /g)).toHaveLength((html.match(/<!\[endif\]-->/g) ?? []).length);
    for (const picture of page.querySelectorAll("img")) {
      expect(Number(picture.getAttribute("width"))).toBeLessThanOrEqual(600);
    }
  });

  it("loads free fonts, each with its licence, by a sheet that Outlook does not see", () => {
    const [sheet] = html.match(
      /<!--\[if !mso\]><!-->\n<style>\n(?: {2}@font-face \{[^}]*\}\n)+<\/style>\n<!--<!\[endif\]-->/,
    ) ?? [""];
    expect(fontFiles(sheet).length).toBeGreaterThan(0);
    expect(fontFiles(html)).toEqual(fontFiles(sheet));
    for (const file of fontFiles(html)) {
      expect(files.get(`${place}${file}`)?.toString("latin1", 0, 4)).toBe("wOF2");
      const licence = files.get(`${place}${file.replace(/(?:-italic)?\.woff2$/, "-OFL.txt")}`);
      expect(licence?.toString()).toContain("SIL OPEN FONT LICENSE Version 1.1");
      expect(files.get("LICENSE.txt")?.toString()).toContain("SIL Open Font License");
    }
    const family = sheet.match(/font-family: "([^"]*)"/)?.[1] ?? "";
    expect(guide).toContain(family);
  });

  it("shows Outlook the first font of each list that Windows or Office has", () => {
    const [, rules = ""] = html.match(/<!--\[if mso\]>\n<style>\n([\s\S]*?)<\/style>/) ?? [];
    const stacks = new Map(
      [...rules.matchAll(/\.(font-\d) \{ font-family: (.*) !important; \}/g)].map(
        ([, name, stack]) => [name, (stack ?? "").replaceAll('"', "").split(", ")],
      ),
    );
    const carried: string[] = WEB_FACES.map(([family]) => family);
    let marked = 0;
    for (const element of page.querySelectorAll("[style]")) {
      const list = element
        .getAttribute("style")
        ?.match(/font(?:-family:|:[^;]*?px(?:\/\S+)? )([^;]*)/);
      const names = (list?.[1] ?? "").replaceAll("'", "").split(",");
      if (!carried.includes(names[0] ?? "")) continue;
      marked += 1;
      const stack = stacks.get([...element.classList].find((name) => /^font-\d$/.test(name)));
      expect(OUTLOOK_FAMILIES).toContain(stack?.[0]);
      expect(names.slice(-(stack?.length ?? 0))).toEqual(stack);
    }
    expect(marked).toBeGreaterThan(3);
  });

  it("names fonts that every machine has", () => {
    const stacks = [
      ...html.matchAll(/font(?:-family)?:[^;"{}]*?(?:px\s|:\s?)([^;"{}]*,[^;"{}]*)/g),
    ];
    expect(stacks.length).toBeGreaterThan(3);
    for (const [, stack] of stacks)
      expect(stack).toMatch(/(serif|sans-serif|monospace)(\s*!important)?\s*$/);
  });

  it("is explained for three mailing tools in short lines", () => {
    for (const tool of ["In Mailchimp", "In Brevo", "In Klaviyo"])
      expect(guide).toContain(`\n${tool}\n`);
    for (const tag of ["*|UNSUB|*", "{{ unsubscribe }}", "{% unsubscribe_link %}"])
      expect(guide).toContain(tag);
    for (const link of page.querySelectorAll("a"))
      expect(guide).toContain(link.getAttribute("href"));
    const named = [...files.keys()].filter((name) => name !== "GUIDE.txt");
    for (const name of named)
      expect(guide).toContain(
        name
          .replace(/sources\/.*/, "sources")
          .replace(/^(?:letter|layout)-\d\/(?:sources|fonts\/.*)/, "sources"),
      );
    for (const line of guide.split("\n")) {
      if (!/^\s+(https:|\S)/.test(line)) expect(line.length).toBeLessThanOrEqual(74);
    }
    expect(guide).not.toMatch(/undefined|NaN|null/);
  });
});

/** What the page of a template says about its file, against the file. */
describe.each(EMAILS)("$folder", (email) => {
  let files: Map<string, Buffer>;
  /** The folders of the mails: the root, and those of the further letters or layouts. */
  let places: string[];

  beforeAll(async () => {
    files = await productOf(email);
    const names = [...files.keys()].filter((name) => name.endsWith("index.html"));
    places = names.map((name) => name.replace("index.html", ""));
  });

  const read = (name: string) => files.get(name)?.toString("utf8") ?? "";

  it("holds the letters and layouts that the page has tabs for, and no others", () => {
    const tabs = (builtInPreviews[email.id]?.further ?? []).map(({ name }) => name);
    const folders = places.slice(1).map((place) => place.replace("-", " ").replace("/", ""));
    expect(folders).toEqual(tabs.map((name) => name.toLowerCase()));
  });

  it("holds more the more it costs", () => {
    const template = findTemplate(readBuiltInCatalogue(), String(email.id));
    const price = Number(template?.price.replace("$", ""));
    expect(price).toBeGreaterThan(0);
    expect(places.length > 1).toBe(price >= MORE_MAILS_FROM);
  });

  it("shows every mail in dark mailboxes, on phones, with pictures off and as the plain text of the page", () => {
    const page = listPlainTexts().find(({ path }) => path === `/mails/${email.id}-text.html`);
    const shown = [...(page?.html ?? "").matchAll(/<pre>([^<]*)<\/pre>/g)];
    const texts = shown.map(([, text = ""]) =>
      text.replaceAll("&lt;", "<").replaceAll("&amp;", "&"),
    );
    expect(texts).toEqual(places.map((place) => read(`${place}plain-text.txt`)));
    for (const place of places) {
      const html = read(`${place}index.html`);
      expect(darkBlock(html).css).toContain("background");
      expect(html).toContain("@media (max-width: 599px)");
      const pictures = html.match(/<img\b[^>]*>/g) ?? [];
      for (const picture of pictures) expect(picture).toMatch(/ alt="/);
    }
  });

  it("has what the page lists as included", () => {
    for (const place of places) expect(read(`${place}index.html`)).toContain("<style>");
    const guide = read("GUIDE.txt");
    for (const tool of ["Mailchimp", "Brevo", "Klaviyo"]) expect(guide).toContain(`In ${tool}`);
    expect(read("LICENSE.txt")).not.toBe("");
    expect(read("CHANGELOG.txt")).not.toBe("");
  });
});
