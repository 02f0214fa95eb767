import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import react from "@vitejs/plugin-react";
import { build, type Plugin, type ResolvedConfig } from "vite";
import type * as Prerender from "../src/app/prerender.tsx";
import { pageDocument } from "./page-document.ts";

const PRERENDER = "src/app/prerender.tsx";

/**
 * Renders every page to `pages/` with slots in place of data, which the server fills from its
 * catalogue, and writes the pictures of the templates to `pages/pictures.json`.
 */
export function prerenderedPages(): Plugin {
  let config: ResolvedConfig;
  return {
    name: "prerendered-pages",
    apply: "build",
    configResolved(resolved) {
      config = resolved;
    },
    closeBundle: {
      order: "pre",
      sequential: true,
      async handler() {
        const folder = join(config.root, config.build.outDir);
        const { pages, pictureList } = await render(config);
        const shell = await readFile(join(folder, "index.html"), "utf8");
        await mkdir(join(folder, "pages"), { recursive: true });
        for (const [name, page] of Object.entries(pages)) {
          const html = pageDocument(shell, name, page);
          await writeFile(join(folder, "pages", `${name}.html`), html);
        }
        const pictures = JSON.stringify(pictureList);
        for (const [, file] of pictures.matchAll(/\/(assets\/[^" ]+)/g)) {
          await stat(join(folder, file ?? ""));
        }
        await writeFile(join(folder, "pages", "pictures.json"), pictures);
      },
    },
  };
}

/** Builds the program that renders, for Node, and runs it. */
async function render({ root }: ResolvedConfig) {
  // Below the project, so that the libraries of the project are found.
  const outDir = await mkdtemp(join(root, "node_modules", ".prerender-"));
  try {
    await build({
      root,
      configFile: false,
      logLevel: "warn",
      publicDir: false,
      plugins: [react()],
      build: { ssr: PRERENDER, outDir, emptyOutDir: true, assetsInlineLimit: 0 },
    });
    const program: typeof Prerender = await import(
      pathToFileURL(join(outDir, "prerender.js")).href
    );
    return { pages: await program.renderPages(), pictureList: program.listPictures() };
  } finally {
    await rm(outDir, { recursive: true });
  }
}
