import type { Category } from "../../shared/templates/templates.ts";
import { CheckList } from "../../shared/ui/check-list.tsx";
import { categoryPromise } from "./category-promises.ts";

/** The tagline and benefits of a category. */
export function CategoryCard({ category }: { category: Category }) {
  const { tagline, benefits } = categoryPromise(category);
  return (
    <section data-category={category} className="border border-line bg-sheet p-6 sm:p-8">
      <span aria-hidden="true" className="mb-5 block h-3 w-12 bg-swatch" />
      <h2 className="mb-5 text-title">{tagline}</h2>
      <CheckList items={benefits} />
    </section>
  );
}
