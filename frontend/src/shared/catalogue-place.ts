import { useSyncExternalStore } from "react";
import { paths } from "./paths.ts";

const SEARCH = "catalogue.search";

const subscribe = () => () => undefined;

/** Stores the filter of the catalogue, as a query, for links back to it. */
export function rememberCatalogue(search: string): void {
  try {
    sessionStorage.setItem(SEARCH, search);
  } catch {
    // The links back lead to the unfiltered catalogue.
  }
}

/** Returns the path of the catalogue with the filter that the visitor used last. */
export function useCataloguePath(): string {
  return useSyncExternalStore(
    subscribe,
    () => paths.catalogue + readSearch(),
    () => paths.catalogue,
  );
}

/** The state of a navigation back to the catalogue, whose cards then appear without animation. */
export const RETURNING = { isReturning: true } as const;

/** Returns whether a location was reached by a link back to the catalogue. */
export function isReturning(state: unknown): boolean {
  return typeof state === "object" && state !== null && "isReturning" in state;
}

function readSearch(): string {
  try {
    return sessionStorage.getItem(SEARCH) ?? "";
  } catch {
    return "";
  }
}
