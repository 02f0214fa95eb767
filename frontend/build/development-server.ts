import type { Plugin } from "vite";
import { CONFIG_MARKER } from "./site-files.ts";

/**
 * For `npm run dev`: hands the page the server named by `BASALT_URL` and the key in `BASALT_KEY`
 * (`basalt status` prints both), which the binary does itself when it serves the built page.
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
