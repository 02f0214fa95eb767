/** Where the server is and which public key it knows this page by. */
export interface Env {
  /** Origin of the server, without a slash at the end. */
  url: string;
  /** The publishable API key. */
  key: string;
  /** Origin under which visitors reach the shop. */
  siteUrl: string;
}

/**
 * Reads what the server wrote into the page when it served it. An empty or missing `url` means the
 * origin the page came from; a page nobody completed has an empty key.
 */
export function readEnv(page: Document, origin: string): Env {
  const written = parse(page.getElementById("basalt-config")?.textContent ?? "{}");
  const url = written.url || origin;
  return {
    url: url.replace(/\/+$/, ""),
    key: written.key ?? "",
    siteUrl: (written.siteUrl || origin).replace(/\/+$/, ""),
  };
}

function parse(text: string): Partial<Env> {
  try {
    return JSON.parse(text) as Partial<Env>;
  } catch (cause) {
    console.error("The page's configuration is not JSON; using this page's own origin.", cause);
    return {};
  }
}
