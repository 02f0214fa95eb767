import type { Plugin } from "vite";
import { paths } from "../src/shared/paths.ts";
import { PRODUCT } from "../src/shared/product.ts";
import { catalogueData } from "../src/shared/templates/structured-data.ts";
import { TEMPLATES } from "../src/shared/templates/templates.ts";

/** Placeholder of the origin of the site, which the server replaces when it serves a file. */
export const ORIGIN_PLACEHOLDER = "__ORIGIN__";

/** The element of `index.html` that the server fills with its address and public key. */
export const CONFIG_MARKER = '<script id="basalt-config" type="application/json">{}</script>';

const PRODUCT_MARKER = "%product%";
const STRUCTURED_DATA_MARKER = "<!-- structured data -->";

/**
 * Derives files from the catalogue: the list of existing paths (`routes.json`, for the server),
 * `sitemap.xml`, `robots.txt` and the JSON-LD of the catalogue.
 */
export function siteFiles(): Plugin {
  const known = [
    paths.catalogue,
    paths.submission,
    ...TEMPLATES.map(({ id }) => paths.template(id)),
  ];
  return {
    name: "site-files",
    transformIndexHtml: {
      order: "pre",
      handler: (html) =>
        html
          .replaceAll(PRODUCT_MARKER, PRODUCT)
          .replace(STRUCTURED_DATA_MARKER, () => structuredDataElement()),
    },
    generateBundle() {
      this.emitFile({
        type: "asset",
        fileName: "routes.json",
        source: JSON.stringify({ paths: known }),
      });
      this.emitFile({ type: "asset", fileName: "sitemap.xml", source: sitemap(known) });
      this.emitFile({ type: "asset", fileName: "robots.txt", source: ROBOTS });
      this.emitFile({ type: "asset", fileName: "site.webmanifest", source: manifest() });
    },
    writeBundle(_, bundle) {
      const page = bundle["index.html"];
      if (page?.type !== "asset" || !String(page.source).includes(CONFIG_MARKER)) {
        this.error(
          "index.html must contain the configuration element exactly as CONFIG_MARKER says",
        );
      }
    },
  };
}

function structuredDataElement(): string {
  const data = JSON.stringify(catalogueData(ORIGIN_PLACEHOLDER)).replaceAll("<", "\\u003c");
  return `<script id="structured-data" type="application/ld+json">${data}</script>`;
}

function sitemap(known: string[]): string {
  const entries = known.map((path) => `  <url><loc>${ORIGIN_PLACEHOLDER}${path}</loc></url>`);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">',
    ...entries,
    "</urlset>",
    "",
  ].join("\n");
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

Sitemap: ${ORIGIN_PLACEHOLDER}/sitemap.xml
`;
