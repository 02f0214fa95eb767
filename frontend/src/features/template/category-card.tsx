import { findCategory } from "../../shared/templates/catalogue.ts";
import { useCatalogue } from "../../shared/templates/use-catalogue.ts";
import { CheckList } from "../../shared/ui/check-list.tsx";

/** The tagline and benefits of a category. */
export function CategoryCard({ category }: { category: string }) {
  const { tagline, benefits } = findCategory(useCatalogue(), category) ?? {};
  return (
    <section data-category={category} className="border border-line bg-sheet p-[min(1.5rem,7vw)]">
      <span aria-hidden="true" className="mb-5 block h-3 w-12 bg-swatch" />
      <h2 className="mb-5 text-title wrap-anywhere">{tagline}</h2>
      <CheckList items={benefits ?? []} />
    </section>
  );
}
