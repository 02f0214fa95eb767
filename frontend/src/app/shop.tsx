import { StrictMode } from "react";
import { type DataRouter, RouterProvider } from "react-router-dom";
import { type Outcome, OutcomeContext } from "../features/submission/outcome.ts";
import { ScreenLoaders } from "../shared/prefetch.ts";
import { type Seller, SellerContext } from "../shared/seller.ts";
import type { Catalogue } from "../shared/templates/catalogue.ts";
import { CatalogueContext } from "../shared/templates/use-catalogue.ts";
import { screens } from "./screens.ts";

interface ShopProps {
  router: DataRouter;
  catalogue: Catalogue;
  outcome: Outcome;
  seller: Seller | undefined;
}

/** The whole page, the same at build and in the browser. */
export function Shop({ router, catalogue, outcome, seller }: ShopProps) {
  return (
    <StrictMode>
      <ScreenLoaders value={screens}>
        <CatalogueContext value={catalogue}>
          <OutcomeContext value={outcome}>
            <SellerContext value={seller}>
              <RouterProvider router={router} />
            </SellerContext>
          </OutcomeContext>
        </CatalogueContext>
      </ScreenLoaders>
    </StrictMode>
  );
}
