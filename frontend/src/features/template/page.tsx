import { useCallback } from "react";
import { useParams } from "react-router-dom";
import { previews } from "../../previews/index.ts";
import { usePageHead } from "../../shared/page-head.ts";
import { paths } from "../../shared/paths.ts";
import { PRODUCT } from "../../shared/product.ts";
import { templateData } from "../../shared/templates/structured-data.ts";
import type { Template } from "../../shared/templates/templates.ts";
import { findTemplate } from "../../shared/templates/templates.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { ProofPicture } from "../../shared/ui/proof-picture.tsx";
import { TopBar } from "../../shared/ui/top-bar.tsx";
import { CategoryCard } from "./category-card.tsx";
import { ClosingBand } from "./closing-band.tsx";
import { IncludedList } from "./included-list.tsx";
import { Purchase } from "./purchase.tsx";
import { Rating } from "./rating.tsx";
import { Summary } from "./summary.tsx";
import { TemplateNotFound } from "./template-not-found.tsx";

/** The screen of a template, or of an unknown id. */
export function TemplatePage() {
  const template = findTemplate(useParams().id);
  return template ? <FoundTemplate template={template} /> : <TemplateNotFound />;
}

function FoundTemplate({ template }: { template: Template }) {
  const preview = previews[template.id];
  const image = preview?.detail.webp.at(-1)?.src ?? "/og.png";
  usePageHead({
    title: `${template.title} - Professional ${PRODUCT} | Custom Email Designs That Convert`,
    description: template.description,
    path: paths.template(template.id),
    structuredData: useCallback(
      (origin: string) => templateData(template, image, origin),
      [template, image],
    ),
  });

  return (
    <>
      <TopBar>
        <div className="flex items-center gap-3 sm:gap-4">
          <Badge category={template.category} />
          <Rating />
        </div>
      </TopBar>
      <main className="mx-auto max-w-wall px-5 sm:px-8 lg:px-12">
        {/* Narrow screens: one column with a sticky purchase button. Wide screens: two columns, the right one sticky. */}
        <div className="flex flex-col gap-8 sm:gap-10 py-6 sm:py-10 lg:grid lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)] lg:grid-rows-[auto_1fr_auto_auto] lg:gap-x-16 lg:gap-y-8 lg:py-14">
          <div className="lg:col-start-2">
            <h1 tabIndex={-1} className="text-head xl:text-poster">
              {template.title}
            </h1>
            <p className="mt-4 max-w-text text-ink-soft sm:mt-5">{template.description}</p>
          </div>
          <div className="proof lg:col-start-1 lg:row-span-2 lg:row-start-1">
            {preview && (
              <ProofPicture
                picture={preview.detail}
                alt={preview.alt}
                sizes="(min-width: 64rem) 54vw, 90vw"
                first
                className="h-auto w-full bg-sheet shadow-high"
              />
            )}
          </div>
          <div className="contents lg:col-start-2 lg:row-span-3 lg:row-start-2 lg:block">
            <Summary template={template} />
            <Purchase template={template} />
          </div>
          <CategoryCard category={template.category} />
          <IncludedList />
        </div>
        <ClosingBand />
      </main>
    </>
  );
}
