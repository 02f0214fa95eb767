import {
  CATEGORIES,
  type Category,
  TEMPLATES,
  type Template,
} from "../../shared/templates/templates.ts";

/** Returns the category of the query; `undefined` (all) if there is none or an unknown one. */
export function activeCategory(search: URLSearchParams): Category | undefined {
  const wanted = search.get("category");
  return CATEGORIES.find((category) => category === wanted);
}

/** Returns the query for a category; empty for all. */
export function categorySearch(category: Category | undefined): Record<string, string> {
  return category === undefined ? {} : { category };
}

/** Returns the displayed templates, in the order of the catalogue. */
export function shownTemplates(category: Category | undefined): readonly Template[] {
  return TEMPLATES.filter((template) => category === undefined || template.category === category);
}

/** Returns the announcement to screen readers after a change of the filter. */
export function shownMessage(category: Category | undefined): string {
  const count = shownTemplates(category).length;
  if (category === undefined) return `Showing all ${count} templates`;
  return `Showing ${count} of ${TEMPLATES.length} templates: ${category}`;
}
