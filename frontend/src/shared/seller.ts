import { createContext, useContext } from "react";
import * as v from "valibot";

const SellerSchema = v.object({
  name: v.string(),
  address: v.optional(v.string()),
  email: v.optional(v.string()),
  /** The pages with the terms, in the order of the links. */
  documents: v.array(v.object({ path: v.string(), title: v.string() })),
});

export type Seller = Readonly<v.InferOutput<typeof SellerSchema>>;

const StoredSchema = v.pipe(v.string(), v.parseJson(), v.nullable(SellerSchema));

/** Reads the seller that the server wrote into the page, if the settings name one. */
export function readSeller(page: Document): Seller | undefined {
  const text = page.getElementById("basalt-seller")?.textContent;
  return (text && v.parse(StoredSchema, text)) || undefined;
}

/** The seller of the page. Provided by the app. */
export const SellerContext = createContext<Seller | undefined>(undefined);

/** Returns the seller, if the settings name one. */
export function useSeller(): Seller | undefined {
  return useContext(SellerContext);
}
