import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { EMAILS, listMails } from "./list.mjs";

const HERE = import.meta.dirname;
const LIMIT = 100_000;

const folders = readdirSync(HERE, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== "ship")
  .map((entry) => entry.name);

function read(folder: string, file: string): string {
  return readFileSync(join(HERE, folder, file), "utf8");
}

/** The mail as a browser reads it; the conditional comments of Outlook are comments. */
function parse(html: string): Document {
  return new DOMParser().parseFromString(html, "text/html");
}

function all(root: Document | Element, selector: string): Element[] {
  return [...root.querySelectorAll(selector)];
}

function text(element: Element | null): string {
  return (element?.textContent ?? "").replace(/(?:\s|\u034f)+/g, " ").trim();
}

/** The filled button: where the mail wants its reader to go. */
function mainLink(page: Document): string | null | undefined {
  return page
    .querySelector("td[bgcolor] > a[style*='display'], td a[href*='answer=']")
    ?.getAttribute("href");
}

describe("the folders", () => {
  it("are the products 1 to 12, once each", () => {
    expect(folders.map((name) => Number(name.slice(0, 2))).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 12 }, (_, index) => index + 1),
    );
  });

  it("are those of the list", () => {
    expect(EMAILS.map(({ folder }) => folder)).toEqual([...folders].sort());
    for (const { id, folder } of EMAILS) expect(Number(folder.slice(0, 2))).toBe(id);
  });

  it("have twelve different pictures to describe", () => {
    expect(new Set(EMAILS.map(({ alt }) => alt)).size).toBe(12);
  });
});

const MAILS = EMAILS.flatMap((email) =>
  listMails(email).map(({ source }) => ({ folder: email.folder, source })),
);

it("reads every mail, also those of a series", () => {
  const sources = folders.flatMap((folder) =>
    readdirSync(join(HERE, folder))
      .filter((file) => file.endsWith(".html"))
      .map((file) => `${folder}/${file}`),
  );
  expect(MAILS.map(({ folder, source }) => `${folder}/${source}.html`)).toEqual(sources.sort());
  expect(MAILS.filter(({ folder }) => folder === "03-welcome-series")).toHaveLength(3);
});

describe.each(MAILS)("$folder/$source", ({ folder, source }) => {
  const html = read(folder, `${source}.html`);
  const plain = read(folder, `${source}.txt`);
  const page = parse(html);

  it("is smaller than the clipping limit of mail programs", () => {
    expect(statSync(join(HERE, folder, `${source}.html`)).size).toBeLessThan(LIMIT);
  });

  it("states its language and title", () => {
    expect(page.documentElement.getAttribute("lang")).toBe("en");
    expect(text(page.querySelector("title")).length).toBeGreaterThan(15);
    expect(page.querySelector("[role=article]")?.getAttribute("lang")).toBe("en");
  });

  it("has a hidden preheader that fits into a list of mails", () => {
    const first = page.body.firstElementChild;
    expect(first?.getAttribute("style")).toMatch(/display:none/);
    expect(first?.getAttribute("style")).toMatch(/mso-hide:all/);
    expect(text(first).length).toBeGreaterThan(40);
    expect(text(first).length).toBeLessThan(140);
  });

  it("uses layout tables with the presentation role", () => {
    const tables = all(page, "table");
    expect(tables.length).toBeGreaterThan(3);
    for (const table of tables) expect(table.getAttribute("role")).toBe("presentation");
    expect(html).toContain("max-width:600px");
    expect(html).toMatch(/<!--\[if mso\]><table role="presentation" width="600"/);
    expect(all(page, "div").length).toBeLessThanOrEqual(2);
    expect(html).not.toMatch(/display:\s*(flex|grid)|position:\s*(absolute|fixed)/);
  });

  it("has one heading of the first level and no empty one", () => {
    expect(all(page, "h1")).toHaveLength(1);
    for (const heading of all(page, "h1, h2, h3")) expect(text(heading)).not.toBe("");
  });

  it("has an alternative text for every picture, or hides it", () => {
    for (const image of all(page, "img")) expect(image.getAttribute("alt")).not.toBeNull();
    const drawings = all(page, "svg");
    for (const drawing of drawings) {
      if (drawing.getAttribute("aria-hidden") === "true") continue;
      expect(drawing.getAttribute("role")).toBe("img");
      const title = page.getElementById(drawing.getAttribute("aria-labelledby") ?? "");
      expect(text(title).length).toBeGreaterThan(10);
    }
  });

  it("has unique ids", () => {
    const ids = all(page, "[id]").map((element) => element.id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("hides drawings from Outlook, which does not support them", () => {
    const shown = html.match(/<!--\[if !mso\]><!-->\s*<svg/g) ?? [];
    expect(shown).toHaveLength(all(page, "svg").length);
  });

  it("has no scripts", () => {
    expect(html).not.toMatch(/<script|<iframe|<object|<embed|<form|javascript:|\son\w+\s*=/i);
  });

  it("loads no external resources", () => {
    expect(html).not.toMatch(/@import|@font-face|<link\b|\ssrcset=/i);
    for (const [, address] of html.matchAll(/url\(\s*["']?([^"')]*)/g)) {
      expect(address).toMatch(/^(#|data:)/);
    }
    for (const element of all(page, "[src], [background]")) {
      expect(element.getAttribute("src") ?? element.getAttribute("background")).toMatch(/^data:/);
    }
    for (const [, address] of html.matchAll(/<use[^>]*\shref="([^"]*)"/g)) {
      expect(address).toMatch(/^#/);
    }
  });

  it("has absolute https links to reserved domain names", () => {
    const links = all(page, "a");
    expect(links.length).toBeGreaterThan(2);
    for (const link of links) {
      const address = new URL(link.getAttribute("href") ?? "");
      expect(address.protocol).toBe("https:");
      expect(address.hostname).toMatch(/\.example\.com$/);
      expect(text(link)).not.toBe("");
    }
  });

  it("has styles for dark mode, also in Outlook, and for small screens", () => {
    expect(html).toContain('name="color-scheme" content="light dark"');
    expect(html).toContain("@media (prefers-color-scheme: dark)");
    expect(html).toContain("[data-ogsc]");
    expect(html).toContain("[data-ogsb]");
    expect(html).toContain("@media (max-width: 599px)");
  });

  it("styles only existing classes", () => {
    const used = new Set(
      all(page, "[class]").flatMap((element) => (element.getAttribute("class") ?? "").split(/\s+/)),
    );
    const css = text(page.querySelector("style"));
    for (const [, name] of css.matchAll(/\.([a-z][\w-]*)/g)) expect(used).toContain(name);
  });

  it("has a plain-text part with its main link and short lines", () => {
    const link = mainLink(page) ?? page.querySelector("a")?.getAttribute("href");
    expect(plain).toContain(link);
    expect(plain).not.toMatch(/<[a-z]|&[a-z]+;/i);
    for (const line of plain.split("\n")) {
      if (!line.includes("https://")) expect(line.length).toBeLessThanOrEqual(72);
    }
  });

  it("has no other links in plain text", () => {
    const links = new Set(all(page, "a").map((link) => link.getAttribute("href")));
    for (const [address] of plain.matchAll(/https:\/\/\S+/g)) expect(links).toContain(address);
  });

  it("has a text and no placeholders", () => {
    expect(text(page.body)).not.toMatch(/lorem|ipsum|placeholder|todo|your name here/i);
    expect(text(page.body).length).toBeGreaterThan(400);
  });
});
