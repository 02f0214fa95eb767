import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";

/**
 * Refers to the fonts of the shop, which its build has written before, in place of a second copy. The
 * names are equal because they contain a hash of the content.
 */
export function shopFonts(): Plugin {
  let folder = "";
  return {
    name: "shop-fonts",
    apply: "build",
    config: () => ({
      experimental: {
        renderBuiltUrl: (file) => (file.endsWith(".woff2") ? `/${file}` : undefined),
      },
    }),
    configResolved(config) {
      folder = join(config.root, config.build.outDir, "..");
    },
    generateBundle(_, bundle) {
      for (const file of Object.keys(bundle).filter((name) => name.endsWith(".woff2"))) {
        if (!existsSync(join(folder, file))) {
          this.error(`${file} is no file of the shop: build the shop before the desk`);
        }
        delete bundle[file];
      }
    },
  };
}
