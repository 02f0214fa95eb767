import { useEffect } from "react";
import { readEnv } from "./env.ts";

/** Metadata of a screen for the tab, search engines and previews of shared links. */
export interface PageHead {
  title: string;
  /** Default: the description of the shop. */
  description?: string;
  /** The path of the screen; without one, search engines do not index it. */
  path?: string;
  /** Returns the JSON-LD for an origin. */
  structuredData?: (origin: string) => object;
}

const shopDescription = metaElement("name", "description")?.content ?? "";

/** Writes the metadata into the head of the page while the calling screen is mounted. */
export function usePageHead({ title, description, path, structuredData }: PageHead): void {
  useEffect(() => {
    const { siteUrl } = readEnv(document, location.origin);
    document.title = title;
    setMeta("name", "description", description ?? shopDescription);
    setMeta("property", "og:title", title);
    setMeta("property", "og:description", description ?? shopDescription);
    setMeta("property", "og:url", path === undefined ? "" : siteUrl + path);
    setMeta("name", "robots", path === undefined ? "noindex" : "");
    setCanonical(path === undefined ? undefined : siteUrl + path);
    setStructuredData(structuredData?.(siteUrl));
  }, [title, description, path, structuredData]);
}

function metaElement(attribute: "name" | "property", name: string): HTMLMetaElement | null {
  return document.head.querySelector(`meta[${attribute}="${name}"]`);
}

function setMeta(attribute: "name" | "property", name: string, content: string): void {
  const existing = metaElement(attribute, name);
  if (content === "") {
    existing?.remove();
    return;
  }
  const element = existing ?? document.createElement("meta");
  element.setAttribute(attribute, name);
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

function setStructuredData(data: object | undefined): void {
  const existing = document.getElementById("structured-data");
  if (data === undefined) {
    existing?.remove();
    return;
  }
  const element = existing ?? document.createElement("script");
  element.id = "structured-data";
  element.setAttribute("type", "application/ld+json");
  element.textContent = JSON.stringify(data);
  if (!existing) document.head.append(element);
}
