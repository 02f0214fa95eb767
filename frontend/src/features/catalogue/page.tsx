import { useEffect, useRef, useState } from "react";
import { useLocation, useNavigationType, useSearchParams } from "react-router-dom";
import { isReturning, rememberCatalogue } from "../../shared/catalogue-place.ts";
import { usePageHead } from "../../shared/page-head.ts";
import { paths } from "../../shared/paths.ts";
import { PRODUCT } from "../../shared/product.ts";
import { Slot } from "../../shared/slots.tsx";
import { useCatalogue } from "../../shared/templates/use-catalogue.ts";
import { useHydrated } from "../../shared/use-hydrated.ts";
import { CatalogueFooter } from "./catalogue-footer.tsx";
import { FilterRow } from "./filter-row.tsx";
import { activeCategory, categorySearch, shownMessage, shownTemplates } from "./model.ts";
import { type Entrance, TemplateCard } from "./template-card.tsx";
import { useGlide } from "./use-glide.ts";

/** The catalogue: all templates, or those of one category. */
export function CataloguePage() {
  const catalogue = useCatalogue();
  const [search, setSearch] = useSearchParams();
  const category = activeCategory(catalogue, search);
  const entrance = useEntrance(category);
  const list = useRef<HTMLUListElement>(null);
  const isHydrated = useHydrated();
  useGlide(list, category);
  useEffect(() => {
    rememberCatalogue(category);
  }, [category]);
  usePageHead({
    title: `Professional ${PRODUCT} | Custom Email Designs That Convert`,
    path: paths.catalogue,
  });

  return (
    <div className="mx-auto max-w-wall px-5 sm:px-8 lg:px-12">
      <header className="gap-16 pt-8 pb-5 sm:pt-14 sm:pb-10 lg:flex lg:items-end lg:justify-between lg:pt-20 lg:pb-14">
        <h1
          tabIndex={-1}
          className="max-w-[9.5em] text-figure wrap-anywhere hyphens-auto sm:text-poster lg:shrink-0 xl:text-giant"
        >{`${PRODUCT} & Custom Designs`}</h1>
        <p className="mt-4 max-w-[27em] text-ink-soft text-pretty sm:mt-6 sm:text-lead lg:mb-1.5">
          Professional, responsive email templates that look right in every inbox, on every device.
        </p>
      </header>
      {/* As high as the screen, so that the filter row stays where it is with fewer cards, too. */}
      <main className="min-h-dvh print:min-h-0">
        <FilterRow
          active={category}
          onChoose={(chosen) => setSearch(categorySearch(chosen), { preventScrollReset: true })}
        />
        <p role="status" className="sr-only">
          {isHydrated && shownMessage(catalogue, category)}
        </p>
        <ul
          ref={list}
          className="mt-6 grid gap-x-8 gap-y-14 sm:mt-10 sm:grid-cols-2 lg:grid-cols-3 xl:grid-cols-4"
        >
          <Slot name="cards">
            {shownTemplates(catalogue, category).map((template, turn) => (
              <Slot key={template.id} of={template}>
                <TemplateCard template={template} isFirst={turn === 0} entrance={entrance} />
              </Slot>
            ))}
          </Slot>
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
function useEntrance(category: string | undefined): Entrance {
  const { key, state } = useLocation();
  const navigation = useNavigationType();
  const isHydrated = useHydrated();
  const [opening] = useState(() => {
    const isBack = isReturning(state) || (navigation === "POP" && key !== "default");
    return { category, returned: isHydrated && isBack };
  });
  const [filtered, setFiltered] = useState(false);
  if (!filtered && opening.category !== category) setFiltered(true);
  if (filtered) return "plain";
  return opening.returned ? "none" : "in-turn";
}
