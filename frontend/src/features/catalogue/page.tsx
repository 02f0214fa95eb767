import { useState } from "react";
import { useLocation, useNavigationType, useSearchParams } from "react-router-dom";
import { usePageHead } from "../../shared/page-head.ts";
import { paths } from "../../shared/paths.ts";
import { PRODUCT } from "../../shared/product.ts";
import { catalogueData } from "../../shared/templates/structured-data.ts";
import type { Category } from "../../shared/templates/templates.ts";
import { CatalogueFooter } from "./catalogue-footer.tsx";
import { FilterRow } from "./filter-row.tsx";
import { activeCategory, categorySearch, shownMessage, shownTemplates } from "./model.ts";
import { type Entrance, TemplateCard } from "./template-card.tsx";

/** The catalogue: all templates, or those of one category. */
export function CataloguePage() {
  const [search, setSearch] = useSearchParams();
  const category = activeCategory(search);
  const entrance = useEntrance(category);
  usePageHead({
    title: `Professional ${PRODUCT} | Custom Email Designs That Convert`,
    path: paths.catalogue,
    structuredData: catalogueData,
  });

  return (
    <div className="mx-auto max-w-wall px-5 sm:px-8 lg:px-12">
      <header className="gap-16 pt-8 pb-5 sm:pt-14 sm:pb-10 lg:flex lg:items-end lg:justify-between lg:pt-20 lg:pb-14">
        <h1
          tabIndex={-1}
          className="max-w-[9.5em] shrink-0 text-figure sm:text-poster xl:text-giant"
        >{`${PRODUCT} & Custom Designs`}</h1>
        <p className="mt-4 max-w-[27em] text-ink-soft sm:mt-6 sm:text-lead lg:mb-1.5">
          Professional, responsive email templates that look right in every inbox, on every device.
        </p>
      </header>
      <main>
        <FilterRow
          active={category}
          onChoose={(chosen) => setSearch(categorySearch(chosen), { preventScrollReset: true })}
        />
        <p role="status" className="sr-only">
          {shownMessage(category)}
        </p>
        <ul className="mt-6 grid gap-x-8 gap-y-14 sm:mt-10 sm:grid-cols-2 lg:grid-cols-3 xl:grid-cols-4">
          {shownTemplates(category).map((template, turn) => (
            <TemplateCard key={template.id} template={template} turn={turn} entrance={entrance} />
          ))}
        </ul>
      </main>
      <CatalogueFooter />
    </div>
  );
}

/**
 * Returns how cards appear: one after another when the list opens, at once after a use of the filter,
 * without animation after a navigation back.
 */
function useEntrance(category: Category | undefined): Entrance {
  const { key } = useLocation();
  const navigation = useNavigationType();
  const [opening] = useState({ category, returned: navigation === "POP" && key !== "default" });
  const [filtered, setFiltered] = useState(false);
  if (!filtered && opening.category !== category) setFiltered(true);
  if (filtered) return "plain";
  return opening.returned ? "none" : "in-turn";
}
