import { defineConfig, type Plugin } from "vite";
import { renderPage } from "./provider/page.ts";
import { PRESET_USERS } from "./provider/users.ts";

/** Writes the page of the provider simulator. */
function providerPage(): Plugin {
  return {
    name: "provider-page",
    generateBundle() {
      this.emitFile({
        type: "asset",
        fileName: "provider/page.html",
        source: renderPage(PRESET_USERS),
      });
    },
  };
}

/**
 * Builds the development pages of the server: the script of the consent page, and the page of the
 * provider. `server/build.rs` lists the files that it embeds.
 */
export default defineConfig({
  root: import.meta.dirname,
  publicDir: false,
  plugins: [providerPage()],
  build: {
    outDir: "../dist/development",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    reportCompressedSize: false,
    rolldownOptions: {
      input: "consent/main.ts",
      output: { entryFileNames: "consent/page.js" },
    },
  },
});
