import { readdir, readFile, writeFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Plugin } from "vite";
import { ORIGIN_PLACEHOLDER } from "./site-files.ts";

const COMPRESSIBLE = new Set([
  ".css",
  ".ico",
  ".js",
  ".json",
  ".svg",
  ".txt",
  ".webmanifest",
  ".xml",
]);

/**
 * Writes a `.br` and a `.gz` file beside every compressible file, so that the server does not compress
 * at request time. Files with a placeholder, which the server replaces, are omitted.
 */
export function compressedFiles(): Plugin {
  let folder = "";
  return {
    name: "compressed-files",
    apply: "build",
    configResolved(config) {
      folder = join(config.root, config.build.outDir);
    },
    async closeBundle() {
      const files = await readdir(folder, { recursive: true });
      await Promise.all(
        files
          .filter((file) => COMPRESSIBLE.has(extname(file)) || file.startsWith("mails/"))
          .map((file) => compress(join(folder, file))),
      );
    },
  };
}

async function compress(file: string): Promise<void> {
  const content = await readFile(file);
  if (content.includes(ORIGIN_PLACEHOLDER)) return;
  const best = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };
  await writeFile(`${file}.br`, await promisify(brotliCompress)(content, best));
  await writeFile(`${file}.gz`, await promisify(gzip)(content, { level: 9 }));
}
