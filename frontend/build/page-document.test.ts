import { expect, test } from "vitest";
import { listPictures, renderPages } from "../src/app/prerender.tsx";
import { MARKERS, pageDocument } from "./page-document.ts";

const SHELL = `<head>${MARKERS.head}</head><div id="root">${MARKERS.page}</div>${MARKERS.data}`;
const pages = await renderPages();

function documentOf(name: string): string {
  const page = pages[name];
  if (!page) throw new Error(`there is no page ${name}`);
  return pageDocument(SHELL, name, page);
}

/** Returns the names of the slots, without those that close a part. */
function slots(html: string): Set<string> {
  return new Set([...html.matchAll(/\{\{[#&]?\s*(\w+)\s*\}\}/g)].map(([, name]) => name ?? ""));
}

test.each(Object.keys(pages))("%s has its content and its metadata without a script", (name) => {
  const html = documentOf(name);
  expect(html).toMatch(/<title>[^<]+<\/title>/);
  expect(html).toMatch(/<h1[^>]*>[^<]+<\/h1>/);
  expect(html).not.toContain(" style=");
  expect(html).not.toContain("aria-busy");
});

test("every part that is repeated or left out is closed", () => {
  for (const name of Object.keys(pages)) {
    const open: string[] = [];
    for (const [, kind, part] of documentOf(name).matchAll(/\{\{([#/])(\w+)\}\}/g)) {
      if (kind === "#") open.push(part ?? "");
      else expect(open.pop(), name).toBe(part);
    }
    expect(open, name).toEqual([]);
  }
});

/** The slots of the part below every screen. */
const SELLER = [
  ...["seller", "sellers", "seller_name", "seller_addresses", "seller_address"],
  ...["seller_emails", "seller_email", "documents", "document_path", "document_title"],
];

test("every page has the seller and the links to the seller's pages", () => {
  for (const name of Object.keys(pages)) {
    const html = documentOf(name);
    for (const slot of SELLER) expect(slots(html), name).toContain(slot);
    expect(html).toContain('<a href="{{document_path}}"');
    expect(html).toContain('<a href="mailto:{{seller_email}}"');
  }
});

test("the catalogue has slots for everything on a card", () => {
  const html = documentOf("catalogue");
  expect(slots(html)).toEqual(
    new Set([
      ...["origin", "config", "catalogue", "structured_data", "categories", "other", "name"],
      ...["cards", "first", "further", "bare", "id", "title", "category", "price", "summary"],
      ...[1, 2, 3, 4, 5].map((number) => `feature${number}`),
      ...["alt", "card_type", "card_avif", "card_webp", "card_src", "card_width", "card_height"],
      ...SELLER,
    ]),
  );
  expect(html).toContain('srcSet="{{card_avif}}"');
});

test("the page of a category marks it as chosen, and shows only cards", () => {
  const html = documentOf("category");
  expect(html).toMatch(/\{\{#chosen\}\}<button[^>]* aria-pressed="true"[^>]*>\{\{name\}\}/);
  expect(html).toMatch(/\{\{#other\}\}<button[^>]* aria-pressed="false"/);
});

test("a template with a payment link has it, another one leads to the form", () => {
  expect(documentOf("template")).toContain('href="{{link}}" target="_blank"');
  expect(documentOf("template-custom")).toContain('href="/submit?template={{id}}"');
  expect(documentOf("template-bare")).not.toContain("<img");
});

test("a template has a tab for each letter and layout, and its picture where no script runs", () => {
  for (const name of ["template", "template-custom"]) {
    const html = documentOf(name);
    expect(html.match(/\{\{#mails\}\}/g)).toHaveLength(2);
    expect(html).toMatch(
      /Plain text<\/button>\{\{#mails\}\}<button[^>]*-mail-\{\{mail_number\}\}"[^>]*>\{\{mail_name\}\}<\/button>\{\{\/mails\}\}<\/div>/,
    );
    const plain = html.match(/<noscript>(.*)<\/noscript>/)?.[1];
    expect(plain).toMatch(/^\{\{#mails\}\}<details.*<\/details>\{\{\/mails\}\}$/);
    expect(plain).toContain('srcSet="{{mail_avif}}"');
    expect(plain).toContain('<img src="{{mail_src}}"');
  }
});

test("a picture that the owner gives is shown without views, a long one cropped", () => {
  for (const name of ["template-own", "template-own-custom"]) {
    const html = documentOf(name);
    expect(html).toContain(
      '<source type="{{detail_type}}" srcSet="{{detail_src}} {{detail_width}}w"',
    );
    expect(html).toMatch(/\{\{#crop\}\}<details.*<\/details>\{\{\/crop\}\}/);
    expect(html).not.toContain("tablist");
    expect(html).not.toContain("tabpanel");
  }
});

test("the script waits for the pictures", () => {
  const loaded = `<script type="module" crossorigin src="/a.js"></script>`;
  const html = pageDocument(loaded, "catalogue", pages.catalogue as never);
  expect(html).toContain(' crossorigin fetchpriority="low" src="/a.js"');
});

test("the form has its text and its refusal in slots", () => {
  expect(documentOf("submission")).toMatch(/<form[^>]* method="post"/);
  expect(documentOf("submission")).toMatch(/<textarea[^>]*>\{\{details\}\}<\/textarea>/);
  expect(documentOf("submission-refused")).toContain("{{refusal}}");
  expect(documentOf("submission-received")).toContain("Submission Received!");
});

test("the pictures of all templates are listed, with those of each letter and layout", () => {
  const pictures = listPictures() as { id: number; mails: Record<string, unknown>[] }[];
  expect(pictures).toHaveLength(12);
  const names = pictures.map(({ id, mails }) => [id, mails.map(({ name }) => name)]);
  expect(Object.fromEntries(names)).toMatchObject({
    1: [],
    3: ["Letter 2", "Letter 3"],
    8: ["Layout 2", "Layout 3"],
  });
  for (const mail of pictures.flatMap(({ mails }) => mails)) {
    expect(mail.src).toMatch(/\.avif$/);
    expect(mail.avif).toBe(`${mail.src} ${mail.width}w`);
  }
});
