/** The views of an e-mail, in the order of the table. */
const VIEWS = ["card", "detail", "phone", "dark", "unloaded", "windows"];

/** Returns the names of the picture files of an e-mail. */
export function previewFiles(email) {
  const pictures = [...VIEWS.map((view) => email[view]), ...email.furtherPictures];
  return pictures.flatMap(({ avif, webp }) => [...avif, ...webp].map(({ file }) => file));
}

/** Returns the text of src/previews/index.ts: an import per picture file, and the table for the shop. */
export function previewIndex(emails) {
  const files = emails.flatMap(previewFiles);
  const order = new Intl.Collator("en", { numeric: true }).compare;
  const imports = files
    .sort(order)
    .map((file) => `import ${identifier(file)} from "./${file}";`)
    .join("\n");
  return `// Written by "npm run emails:render" from the e-mails in frontend/emails: change those, not this file.
${imports}

/** A rendered e-mail: AVIF, and WebP where browsers without AVIF need it. */
export interface Picture {
  avif: { src: string; width: number }[];
  webp: { src: string; width: number }[];
  /** Of the largest file, in pixels. */
  width: number;
  height: number;
}

/** What buyers get, rendered: the top in 4:5, all of it, on a phone, in a dark mailbox, with pictures off, with the fonts of Windows, and the other letters of a series or layouts of a mail. */
export interface Preview {
  alt: string;
  card: Picture;
  detail: Picture;
  phone: Picture;
  dark: Picture;
  unloaded: Picture;
  windows: Picture;
  /** The further letters of a series. */
  letters?: (Picture & { alt: string })[];
  /** The further layouts of a mail. */
  layouts?: (Picture & { alt: string })[];
}

function sources(...files: [src: string, width: number][]): Picture["avif"] {
  return files.map(([src, width]) => ({ src, width }));
}

function single(src: string, width: number, height: number): Picture {
  return { avif: [{ src, width }], webp: [], width, height };
}

/** By product number. */
export const previews: Record<number, Preview> = {
${emails.map(entry).join("\n")}
};
`;
}

function entry(email) {
  const views = VIEWS.map((view) => `    ${view}: ${picture(email[view])},`);
  for (const group of ["letters", "layouts"]) {
    const mails = (email[group] ?? []).map(
      ({ alt }, at) =>
        `      {\n        ...${picture(email.furtherPictures[at])},\n        alt: ${JSON.stringify(alt)},\n      },\n`,
    );
    if (mails.length > 0) views.push(`    ${group}: [\n${mails.join("")}    ],`);
  }
  return `  ${email.id}: {
    alt: ${JSON.stringify(email.alt)},
${views.join("\n")}
  },`;
}

function picture({ avif, webp, width, height }) {
  if (avif.length === 1) return `single(${identifier(avif[0].file)}, ${width}, ${height})`;
  return `{
      avif: ${sources(avif)},
      webp: ${sources(webp)},
      width: ${width},
      height: ${height},
    }`;
}

function sources(files) {
  const items = files.map(({ file, width }) => `[${identifier(file)}, ${width}]`);
  return `sources(${items.join(", ")})`;
}

/** Returns the identifier of a file: `avif03Card720` for `03-card-720.avif`. */
function identifier(file) {
  const [, id, kind, width, format] = file.match(/^(\d+)-(\w+)-(\d+)\.(\w+)$/);
  return `${format}${id}${kind[0].toUpperCase()}${kind.slice(1)}${width}`;
}
