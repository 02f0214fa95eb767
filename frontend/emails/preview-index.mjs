/** Returns the text of src/previews/index.ts: an import per picture file, and the table for the shop. */
export function previewIndex(emails) {
  const files = emails.flatMap(({ card, detail }) =>
    [card, detail].flatMap(({ avif, webp }) => [...avif, ...webp].map(({ file }) => file)),
  );
  const order = new Intl.Collator("en", { numeric: true }).compare;
  const imports = files
    .sort(order)
    .map((file) => `import ${identifier(file)} from "./${file}";`)
    .join("\n");
  return `// Written by "npm run emails:render" from the e-mails in frontend/emails: change those, not this file.
${imports}

/** A rendered e-mail in two formats. */
export interface Picture {
  avif: { src: string; width: number }[];
  webp: { src: string; width: number }[];
  /** Of the largest file, in pixels. */
  width: number;
  height: number;
}

/** By product number: the top of the e-mail in 4:5, and the whole of it. */
export const previews: Record<number, { alt: string; card: Picture; detail: Picture }> = {
${emails.map(entry).join("\n")}
};
`;
}

function entry({ id, alt, card, detail }) {
  return `  ${id}: {
    alt: ${JSON.stringify(alt)},
    card: {
${picture(card)}
    },
    detail: {
${picture(detail)}
    },
  },`;
}

function picture({ avif, webp, width, height }) {
  return `${sources("avif", avif)}
${sources("webp", webp)}
      width: ${width},
      height: ${height},`;
}

function sources(format, files) {
  const items = files.map(({ file, width }) => `{ src: ${identifier(file)}, width: ${width} }`);
  if (items.length === 1) return `      ${format}: [${items[0]}],`;
  return `      ${format}: [\n${items.map((item) => `        ${item},`).join("\n")}\n      ],`;
}

/** Returns the identifier of a file: `avif03Card720` for `03-card-720.avif`. */
function identifier(file) {
  const [, id, kind, width, format] = file.match(/^(\d+)-(\w+)-(\d+)\.(\w+)$/);
  return `${format}${id}${kind[0].toUpperCase()}${kind.slice(1)}${width}`;
}
