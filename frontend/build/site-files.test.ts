import { expect, test } from "vitest";
import { EMAILS, listMails } from "../emails/list.mjs";
import { listLiveMails, listPlainTexts } from "./site-files.ts";

test("every mail is there for its frame, without targets of links and without requests", () => {
  const mails = listLiveMails();
  expect(mails).toHaveLength(EMAILS.flatMap((email) => listMails(email)).length);
  expect(mails.map(({ path }) => path)).toContain("/mails/3-3.html");
  for (const { path, html } of mails) {
    expect(html, path).not.toMatch(/<a [^>]*href=|<script|\ssrc="|@import|<link\b/i);
    expect(html.match(/<body tabindex="0"/g), path).toHaveLength(1);
    expect(html, path).toContain("<style>a{text-decoration:underline");
  }
});

test("every product has a page with the plain text of each of its mails", () => {
  const pages = listPlainTexts();
  expect(pages.map(({ path }) => path)).toEqual(EMAILS.map(({ id }) => `/mails/${id}-text.html`));
  for (const [index, { path, html }] of pages.entries()) {
    const mails = listMails(EMAILS[index] ?? {});
    expect(html.match(/<pre>[^<]{500,}<\/pre>/g), path).toHaveLength(mails.length);
    expect(html, path).not.toMatch(/<script|<a\b|\ssrc=/);
  }
});
