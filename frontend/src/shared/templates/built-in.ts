import { readFileSync } from "node:fs";
import { parse } from "smol-toml";
import type { Catalogue, Category, Template } from "./catalogue.ts";

interface File {
  template: Template[];
  category: Category[];
  other_categories: Omit<Category, "name">;
}

/**
 * Reads the catalogue that the binary contains, for the development server and the tests. Run from
 * `frontend/`.
 */
export function readBuiltInCatalogue(): Catalogue {
  const file = parse(readFileSync("catalogue.toml", "utf8")) as unknown as File;
  const names = [...new Set(file.template.map(({ category }) => category))];
  const categories = names.map(
    (name) =>
      file.category.find((category) => category.name === name) ?? {
        name,
        ...file.other_categories,
      },
  );
  return { templates: file.template, categories };
}
