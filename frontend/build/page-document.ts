import type { RenderedPage } from "../src/app/prerender.tsx";
import type { PageHead } from "../src/shared/page-head.ts";
import { PRODUCT, SHOP_DESCRIPTION } from "../src/shared/product.ts";

/** The places in `index.html` that the build or the development server fills. */
export const MARKERS = { head: "<!-- head -->", page: "<!-- page -->", data: "<!-- data -->" };

/** The script of the page, which waits for the pictures: the page can be read without it. */
const SCRIPT = /<script type="module" crossorigin/;

/** Which picture a shared link shows: the one of the template, or that of the shop. */
type SharedPicture = "template" | "shop";

/** Returns a data element of the page. `{{&…}}` is replaced by JSON in which `<` is escaped. */
export function dataElement(name: string, content: string): string {
  return `<script id="basalt-${name}" type="application/json">${content}</script>`;
}

/** Puts a rendered page into the document; slots stay for the server to fill. */
export function pageDocument(shell: string, name: string, page: RenderedPage): string {
  const isTemplate = name.startsWith("template") && page.head.path !== undefined;
  const head = headElements(page.head, isTemplate ? "template" : "shop");
  const data = [
    dataElement("config", "{{&config}}"),
    dataElement("catalogue", "{{&catalogue}}"),
    dataElement("seller", "{{&seller}}"),
    ...(name.startsWith("submission") ? [dataElement("submission", "{{&submission}}")] : []),
    ...(isTemplate || name === "catalogue" || name === "category" ? [structuredData(page)] : []),
  ];
  return shell
    .replace(SCRIPT, '$& fetchpriority="low"')
    .replace(MARKERS.head, () => head)
    .replace(MARKERS.page, () => page.html)
    .replace(MARKERS.data, () => data.join("\n    "));
}

function structuredData({ head }: RenderedPage): string {
  const path = escapeHtml(head.path ?? "");
  return `<script id="structured-data" type="application/ld+json" data-path="${path}">{{&structured_data}}</script>`;
}

/** Returns title, description, canonical address and the elements for previews of shared links. */
function headElements(head: PageHead, picture: SharedPicture): string {
  const { title, description = SHOP_DESCRIPTION, path } = head;
  const address = path === undefined ? undefined : `{{origin}}${path}`;
  return [
    `<title>${escapeHtml(title)}</title>`,
    meta("name", "description", description),
    ...(address === undefined
      ? [meta("name", "robots", "noindex")]
      : [`<link rel="canonical" href="${address}" />`, meta("property", "og:url", address)]),
    meta("property", "og:type", "website"),
    meta("property", "og:site_name", PRODUCT),
    meta("property", "og:title", title),
    meta("property", "og:description", description),
    ...pictureElements(picture),
    meta("name", "twitter:card", "summary_large_image"),
  ].join("\n    ");
}

function pictureElements(picture: SharedPicture): string[] {
  if (picture === "template") {
    return [
      meta("property", "og:image", "{{origin}}{{shared_picture}}"),
      meta("property", "og:image:width", "{{shared_width}}"),
      meta("property", "og:image:height", "{{shared_height}}"),
      meta("property", "og:image:alt", "{{shared_alt}}"),
    ];
  }
  return [
    meta("property", "og:image", "{{origin}}/og.png"),
    meta("property", "og:image:width", "1200"),
    meta("property", "og:image:height", "630"),
    meta("property", "og:image:alt", "Email templates hung on a studio wall like printed proofs"),
  ];
}

function meta(attribute: "name" | "property", name: string, content: string): string {
  return `<meta ${attribute}="${name}" content="${escapeHtml(content)}" />`;
}

/** Escapes text outside of slots, whose values the server escapes. */
function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
