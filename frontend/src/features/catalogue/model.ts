import type { Catalogue, Template } from "../../shared/templates/catalogue.ts";

/** Returns the category of the query; `undefined` (all) if there is none or an unknown one. */
export function activeCategory(
  { categories }: Catalogue,
  search: URLSearchParams,
): string | undefined {
  const wanted = search.get("category");
  return categories.find(({ name }) => name === wanted)?.name;
}

/** Returns the query for a category; empty for all. */
export function categorySearch(category: string | undefined): Record<string, string> {
  return category === undefined ? {} : { category };
}

/** Returns the displayed templates, in the order of the catalogue. */
export function shownTemplates(
  { templates }: Catalogue,
  category: string | undefined,
): readonly Template[] {
  return templates.filter((template) => category === undefined || template.category === category);
}

/** Returns the announcement to screen readers after a change of the filter. */
export function shownMessage(catalogue: Catalogue, category: string | undefined): string {
  const count = shownTemplates(catalogue, category).length;
  if (category === undefined) return `Showing all ${count} templates`;
  return `Showing ${count} of ${catalogue.templates.length} templates: ${category}`;
}
