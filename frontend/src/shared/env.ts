import * as v from "valibot";

/** The addresses of the server and of the shop, and the API key of this page. */
export interface Env {
  /** Origin of the server, without a slash at the end. */
  url: string;
  /** The publishable API key. */
  key: string;
  /** Origin under which visitors reach the shop. */
  siteUrl: string;
}

const ConfigurationSchema = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({
    url: v.optional(v.string(), ""),
    key: v.optional(v.string(), ""),
    siteUrl: v.optional(v.string(), ""),
  }),
);

/**
 * Reads what the server wrote into the page when it served it. An empty or missing `url` means the
 * origin of the page; a page that the server did not complete has an empty key.
 */
export function readEnv(page: Document, origin: string): Env {
  const { url, key, siteUrl } = parse(page.getElementById("basalt-config")?.textContent ?? "{}");
  return {
    url: (url || origin).replace(/\/+$/, ""),
    key,
    siteUrl: (siteUrl || origin).replace(/\/+$/, ""),
  };
}

function parse(text: string): Env {
  const configuration = v.safeParse(ConfigurationSchema, text);
  if (configuration.success) return configuration.output;
  console.error(
    "The page's configuration cannot be read; using this page's own origin.",
    v.flatten(configuration.issues),
  );
  return { url: "", key: "", siteUrl: "" };
}
