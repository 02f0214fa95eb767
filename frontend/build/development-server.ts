import type { Plugin } from "vite";
import { readBuiltInCatalogue } from "../src/shared/templates/built-in.ts";
import { dataElement, MARKERS } from "./page-document.ts";

/**
 * Writes the server of `BASALT_URL`, the key of `BASALT_KEY` (`basalt status` prints both) and the
 * built-in catalogue into the page for `npm run dev`. In production the binary does this.
 */
export function developmentServer(): Plugin {
  return {
    name: "development-server",
    apply: "serve",
    transformIndexHtml(html) {
      const config = {
        url: process.env.BASALT_URL ?? "http://127.0.0.1:54321",
        key: process.env.BASALT_KEY ?? "",
        siteUrl: "http://localhost:5173",
      };
      const data = [
        dataElement("config", JSON.stringify(config)),
        dataElement("catalogue", JSON.stringify(readBuiltInCatalogue())),
      ];
      return html.replace(MARKERS.data, () => data.join("\n"));
    },
  };
}
