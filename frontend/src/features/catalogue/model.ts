import {
  CATEGORIES,
  type Category,
  TEMPLATES,
  type Template,
} from "../../shared/templates/templates.ts";

/** The category named in the address, or `undefined` for all (also when no such category exists). */
export function activeCategory(search: URLSearchParams): Category | undefined {
  const wanted = search.get("category");
  return CATEGORIES.find((category) => category === wanted);
}

/** The address's query for a category; `undefined` means all, which needs none. */
export function categorySearch(category: Category | undefined): Record<string, string> {
  return category === undefined ? {} : { category };
}

/** The templates on show, in the order of the range. */
export function shownTemplates(category: Category | undefined): readonly Template[] {
  return TEMPLATES.filter((template) => category === undefined || template.category === category);
}

/** What a screen reader hears when the filter changes. */
export function shownMessage(category: Category | undefined): string {
  const count = shownTemplates(category).length;
  if (category === undefined) return `Showing all ${count} templates`;
  return `Showing ${count} of ${TEMPLATES.length} templates: ${category}`;
}
