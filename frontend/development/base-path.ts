/** The path in front of the development pages: that of a world of a test server, else empty. */
export const BASE_PATH = basePathOf(globalThis.location?.pathname ?? "");

/** Returns what precedes `/_dev` in the path of a page. */
export function basePathOf(pathname: string): string {
  return pathname.slice(0, Math.max(pathname.indexOf("/_dev"), 0));
}
