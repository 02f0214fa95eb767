// Files that would run script or be read as another type if a browser trusted them.

/** A picture of one red pixel. */
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==",
  "base64",
);

const PDF = Buffer.from(
  `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R>>endobj
4 0 obj<</Length 37>>stream
1 0 0 rg 0 0 200 200 re f 0 0 1 rg   endstream endobj
trailer<</Root 1 0 R>>
`,
);

/**
 * Returns files by name: the type that the sender names, and the content, with this script wherever a document could have one.
 */
export function foreignFiles(
  script: string,
): Record<string, [string | undefined, Buffer | string]> {
  const cdata = `<![CDATA[${script}]]>`;
  const html = `<!doctype html><title>stored</title><p>stored</p><script>${script}</script>`;
  return {
    "a.svg": [
      "image/svg+xml",
      `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9" fill="red"/><script>${cdata}</script></svg>`,
    ],
    "a.html": ["text/html; charset=utf-8", html],
    "a.xhtml": [
      "application/xhtml+xml",
      `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>stored</title></head><body><script>${cdata}</script></body></html>`,
    ],
    "a.xml": [
      "text/xml",
      `<root xmlns:h="http://www.w3.org/1999/xhtml"><h:script>${cdata}</h:script></root>`,
    ],
    untyped: [undefined, html],
    "polyglot.gif": ["image/gif", `GIF89a=1;/*${html}*/`],
    "a.png": ["image/png", PNG],
    "a.pdf": ["application/pdf", PDF],
  };
}
