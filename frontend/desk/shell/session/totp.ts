/** Returns a secret in groups of four characters, which are easier to copy by hand. */
export function groupSecret(secret: string): string {
  return secret.match(/.{1,4}/g)?.join(" ") ?? secret;
}

/** The drawing of a QR code. */
export interface QrDrawing {
  viewBox: string;
  /** The dark modules, as the data of a path. */
  path: string;
}

/** Reads the drawing of a QR code from its SVG document; nothing else of the document is used. */
export function readQrDrawing(svg: string): QrDrawing | undefined {
  const document = svg.slice(Math.max(0, svg.indexOf("<")));
  const root = new DOMParser().parseFromString(document, "image/svg+xml").documentElement;
  const viewBox = root.getAttribute("viewBox");
  const path = root.querySelector("path")?.getAttribute("d");
  const isDrawing =
    viewBox && path && /^[\d\s.-]+$/.test(viewBox) && /^[MmHhVvLlZz\d\s.,-]+$/.test(path);
  return isDrawing ? { viewBox, path } : undefined;
}
