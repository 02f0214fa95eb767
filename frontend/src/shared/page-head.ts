import { createContext, useContext, useEffect } from "react";
import { readEnv } from "./env.ts";
import { SHOP_DESCRIPTION } from "./product.ts";

/** Metadata of a screen for the tab, search engines and previews of shared links. */
export interface PageHead {
  title: string;
  /** Default: the description of the shop. */
  description?: string;
  /** The path of the screen; without one, search engines do not index it. */
  path?: string;
}

/** Receives the metadata of a screen that is rendered at build. */
export const HeadCollector = createContext<((head: PageHead) => void) | undefined>(undefined);

/**
 * Writes the metadata into the head of the page while the calling screen is mounted. Metadata for
 * programs that only read what the server sends is written by the build.
 */
export function usePageHead(head: PageHead): void {
  useContext(HeadCollector)?.(head);
  const { title, description = SHOP_DESCRIPTION, path } = head;
  useEffect(() => {
    const { siteUrl } = readEnv(document, location.origin);
    document.title = title;
    setMeta("description", description);
    setMeta("robots", path === undefined ? "noindex" : "");
    setCanonical(path === undefined ? undefined : siteUrl + path);
    removeOtherStructuredData(path);
  }, [title, description, path]);
}

function setMeta(name: string, content: string): void {
  const existing = document.head.querySelector<HTMLMetaElement>(`meta[name="${name}"]`);
  if (content === "") {
    existing?.remove();
    return;
  }
  const element = existing ?? document.createElement("meta");
  element.name = name;
  element.content = content;
  if (!existing) document.head.append(element);
}

function setCanonical(address: string | undefined): void {
  const existing = document.head.querySelector<HTMLLinkElement>('link[rel="canonical"]');
  if (address === undefined) {
    existing?.remove();
    return;
  }
  const element = existing ?? document.createElement("link");
  element.rel = "canonical";
  element.href = address;
  if (!existing) document.head.append(element);
}

/** Removes the JSON-LD that the server wrote for another screen. */
function removeOtherStructuredData(path: string | undefined): void {
  const element = document.getElementById("structured-data");
  if (element && element.dataset.path !== path) element.remove();
}
