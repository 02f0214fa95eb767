import type { Plugin } from "vite";
import { paths } from "../src/shared/paths.ts";
import { PRODUCT } from "../src/shared/product.ts";

/** Placeholder of the origin of the site, which the server replaces when it serves a file. */
export const ORIGIN_PLACEHOLDER = "__ORIGIN__";

/** Writes `robots.txt` and the manifest. The server writes `sitemap.xml` from its catalogue. */
export function siteFiles(): Plugin {
  return {
    name: "site-files",
    generateBundle() {
      this.emitFile({ type: "asset", fileName: "robots.txt", source: ROBOTS });
      this.emitFile({ type: "asset", fileName: "site.webmanifest", source: manifest() });
    },
  };
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
