import { createContext, useContext } from "react";
import type { Catalogue } from "./catalogue.ts";

/** The catalogue of the page. Provided by the app. */
export const CatalogueContext = createContext<Catalogue>({ templates: [], categories: [] });

/** Returns the catalogue of the page. */
export function useCatalogue(): Catalogue {
  return useContext(CatalogueContext);
}
