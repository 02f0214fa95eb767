import { Check } from "lucide-react";
import type { Category } from "../catalogue/templates.ts";
import { categoryPromise } from "./category-promises.ts";

/** What mails of this kind are good for. */
export function CategoryCard({ category }: { category: Category }) {
  const { tagline, benefits } = categoryPromise(category);
  return (
    <section data-category={category} className="bg-badge p-6 text-badge-ink sm:p-8">
      <h2 className="text-title">{tagline}</h2>
      <ul className="mt-5 space-y-2.5">
        {benefits.map((benefit) => (
          <li key={benefit} className="flex gap-3">
            <Check aria-hidden="true" strokeWidth={2.25} className="mt-1.5 size-4.5 shrink-0" />
            <span>{benefit}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
