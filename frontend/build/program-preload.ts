import type { Plugin } from "vite";

const PROGRAM = "/src/app/start.tsx";

/**
 * Adds preload links of the main scripts to the page, so that the browser loads them in parallel with
 * the small entry script.
 */
export function programPreload(): Plugin {
  return {
    name: "program-preload",
    apply: "build",
    transformIndexHtml: {
      order: "post",
      handler(_, { bundle = {} }) {
        const program = Object.values(bundle).find(
          (part) => part.type === "chunk" && part.facadeModuleId?.endsWith(PROGRAM),
        );
        if (program?.type !== "chunk") throw new Error(`nothing was built from ${PROGRAM}`);
        return [program.fileName, ...program.imports].map((file) => ({
          tag: "link",
          attrs: { rel: "modulepreload", crossorigin: true, href: `/${file}` },
          injectTo: "head",
        }));
      },
    },
  };
}
