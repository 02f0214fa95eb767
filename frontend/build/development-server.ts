import type { Plugin } from "vite";
import { CONFIG_MARKER } from "./site-files.ts";

/**
 * Writes the server of `BASALT_URL` and the key of `BASALT_KEY` into the page for `npm run dev`
 * (`basalt status` prints both). In production the binary does this when it serves the page.
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
      const [open, close] = CONFIG_MARKER.split("{}");
      return html.replace(CONFIG_MARKER, () => `${open}${JSON.stringify(config)}${close}`);
    },
  };
}
