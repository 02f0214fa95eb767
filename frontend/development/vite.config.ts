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

/** The mode that builds the script of the inbox; every script is one file without imports. */
const INBOX_MODE = "inbox";

/**
 * Builds the development pages of the server: the script of the consent page and the page of the
 * provider, or in another mode the script of the inbox. `crates/basalt/build.rs` lists the files that it
 * embeds.
 */
export default defineConfig(({ mode }) => {
  const script = mode === INBOX_MODE ? "inbox" : "consent";
  return {
    root: import.meta.dirname,
    publicDir: false,
    plugins: mode === INBOX_MODE ? [] : [providerPage()],
    build: {
      outDir: "../dist/development",
      emptyOutDir: mode !== INBOX_MODE,
      target: "es2022",
      modulePreload: false,
      reportCompressedSize: false,
      rolldownOptions: {
        input: `${script}/main.ts`,
        output: { entryFileNames: `${script}/page.js` },
      },
    },
  };
});
