import { StrictMode } from "react";
import { type DataRouter, RouterProvider } from "react-router-dom";
import { type Outcome, OutcomeContext } from "../features/submission/outcome.ts";
import { ScreenLoaders } from "../shared/prefetch.ts";
import type { Catalogue } from "../shared/templates/catalogue.ts";
import { CatalogueContext } from "../shared/templates/use-catalogue.ts";
import { screens } from "./screens.ts";

interface ShopProps {
  router: DataRouter;
  catalogue: Catalogue;
  outcome: Outcome;
}

/** The whole page, the same at build and in the browser. */
export function Shop({ router, catalogue, outcome }: ShopProps) {
  return (
    <StrictMode>
      <ScreenLoaders value={screens}>
        <CatalogueContext value={catalogue}>
          <OutcomeContext value={outcome}>
            <RouterProvider router={router} />
          </OutcomeContext>
        </CatalogueContext>
      </ScreenLoaders>
    </StrictMode>
  );
}
