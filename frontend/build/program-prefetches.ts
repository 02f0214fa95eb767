import type { HtmlTagDescriptor, Plugin, Rollup } from "vite";

/** The program of the shop, which `main.ts` loads when it is needed. */
const PROGRAM = /\/src\/app\/start\.tsx$/;

/**
 * Announces the parts of the program in the document, so that they are there when it starts. The browser fetches them when
 * it has nothing else to do, and compiles them when they are imported: compiling takes a slow phone longer than the page.
 */
export function programPrefetches(): Plugin {
  return {
    name: "program-prefetches",
    apply: "build",
    transformIndexHtml: {
      order: "post",
      handler(_html, { bundle = {} }) {
        const chunks = Object.values(bundle).filter((part) => part.type === "chunk");
        const program = chunks.find(({ facadeModuleId }) => PROGRAM.test(facadeModuleId ?? ""));
        if (!program) throw new Error("the program of the shop is no part of its own");
        const [entry] = chunks.filter(({ isEntry }) => isEntry);
        const parts = listParts(program, bundle).filter((name) => name !== entry?.fileName);
        return parts.map((name) => prefetch(`/${name}`));
      },
    },
  };
}

/** Returns the files of a part and of what it imports. */
function listParts(part: Rollup.OutputChunk, bundle: Rollup.OutputBundle): string[] {
  const names = new Set([part.fileName]);
  // What is added meanwhile is visited, too.
  for (const name of names) {
    const file = bundle[name];
    if (file?.type === "chunk") for (const imported of file.imports) names.add(imported);
  }
  return [...names];
}

function prefetch(href: string): HtmlTagDescriptor {
  return {
    tag: "link",
    attrs: { rel: "prefetch", as: "script", crossorigin: true, href },
    injectTo: "head",
  };
}
