import { useSyncExternalStore } from "react";
import { lastCataloguePath } from "./catalogue-place.ts";
import { paths } from "./paths.ts";

const subscribe = () => () => undefined;

/** Returns the path of the catalogue with the filter that the visitor used last; the server knows no filter. */
export function useCataloguePath(): string {
  return useSyncExternalStore(subscribe, lastCataloguePath, () => paths.catalogue);
}
