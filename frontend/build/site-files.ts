import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";
import { EMAILS, listMails } from "../emails/list.mjs";
import { paths } from "../src/shared/paths.ts";
import { PRODUCT } from "../src/shared/product.ts";

/** Placeholder of the origin of the site, which the server replaces when it serves a file. */
export const ORIGIN_PLACEHOLDER = "__ORIGIN__";

/** Writes `robots.txt`, the manifest, and the mails and their plain texts for the frame of their page. The server writes `sitemap.xml` from its catalogue. */
export function siteFiles(): Plugin {
  return {
    name: "site-files",
    generateBundle() {
      this.emitFile({ type: "asset", fileName: "robots.txt", source: ROBOTS });
      this.emitFile({ type: "asset", fileName: "site.webmanifest", source: manifest() });
      for (const { path, html } of [...listLiveMails(), ...listPlainTexts()]) {
        this.emitFile({ type: "asset", fileName: path.slice(1), source: html });
      }
    },
  };
}

/** In the frame links lead nowhere, and look as they do in a mail. */
const INERT_LINKS = "<style>a{text-decoration:underline;cursor:default}</style></head>";

/** Returns the sources of all mails, without the targets of their links. The body takes the focus in place of the links, for scrolling by keyboard. */
export function listLiveMails(): { path: string; html: string }[] {
  return EMAILS.flatMap((email) =>
    listMails(email).map(({ source }, index) => {
      const file = join(import.meta.dirname, "..", "emails", email.folder, `${source}.html`);
      const html = readFileSync(file, "utf8").replaceAll(/(<a\b[^>]*?) href="[^"]*"/g, "$1");
      const focusable = html.replace("<body", '<body tabindex="0"');
      return {
        path: paths.mail(email.id, index + 1),
        html: focusable.replace("</head>", INERT_LINKS),
      };
    }),
  );
}

/** As a mail program shows plain text, in the colours of the mailbox; lines of 72 characters fit into 600 pixels. */
const PLAIN_STYLE =
  "<style>:root{color-scheme:light dark}body{margin:0;padding:1rem;font:0.8rem/1.6 ui-monospace,Consolas,Menlo,monospace}pre{margin:0;font:inherit;white-space:pre-wrap;overflow-wrap:anywhere}pre+pre{margin-top:2rem;padding-top:2rem;border-top:1px solid}</style>";

/** Returns a page for each product with the plain-text part of each of its mails. */
export function listPlainTexts(): { path: string; html: string }[] {
  return EMAILS.map((email) => {
    const folder = join(import.meta.dirname, "..", "emails", email.folder);
    const texts = listMails(email).map(({ source }) =>
      readFileSync(join(folder, `${source}.txt`), "utf8")
        .replaceAll("&", "&amp;")
        .replaceAll("<", "&lt;"),
    );
    const content = texts.map((text) => `<pre>${text}</pre>`).join("\n");
    return {
      path: paths.plainTexts(email.id),
      html: `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Plain text</title>${PLAIN_STYLE}</head>\n<body tabindex="0">\n${content}\n</body></html>\n`,
    };
  });
}

function manifest(): string {
  const paper = "#f8f5ef";
  const icon = (name: string, size: number, purpose: string) => ({
    src: `/${name}.png`,
    sizes: `${size}x${size}`,
    type: "image/png",
    purpose,
  });
  return JSON.stringify({
    name: `${PRODUCT} & Custom Designs`,
    short_name: PRODUCT,
    start_url: paths.catalogue,
    display: "browser",
    background_color: paper,
    theme_color: paper,
    icons: [
      icon("icon-192", 192, "any"),
      icon("icon-512", 512, "any"),
      icon("icon-maskable-512", 512, "maskable"),
    ],
  });
}

const ROBOTS = `User-agent: *
Disallow: /_dev/
Disallow: /auth/
Disallow: /functions/
Disallow: /mails/

Sitemap: ${ORIGIN_PLACEHOLDER}/sitemap.xml
`;
