import { paths } from "./paths.ts";
import { tabStorage } from "./tab-storage.ts";

const SEARCH = "catalogue.search";

/** Stores the filter of the catalogue for links back to it; without storage they lead to the unfiltered catalogue. */
export function rememberCatalogue(category: string | undefined): void {
  tabStorage.write(SEARCH, category === undefined ? "" : `?${new URLSearchParams({ category })}`);
}

/** Returns the path of the catalogue with the filter that the visitor used last. */
export function lastCataloguePath(): string {
  return paths.catalogue + (tabStorage.read(SEARCH) ?? "");
}

/** The state of a navigation back to the catalogue, whose cards then appear without animation. */
export const RETURNING = { isReturning: true } as const;

/** Returns whether a location was reached by a link back to the catalogue. */
export function isReturning(state: unknown): boolean {
  return typeof state === "object" && state !== null && "isReturning" in state;
}
