import { useParams } from "react-router-dom";
import { usePageHead } from "../../shared/page-head.ts";
import { paths } from "../../shared/paths.ts";
import { PRODUCT } from "../../shared/product.ts";
import { findTemplate, type Template } from "../../shared/templates/catalogue.ts";
import { useCatalogue } from "../../shared/templates/use-catalogue.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { CheckList } from "../../shared/ui/check-list.tsx";
import { TopBar } from "../../shared/ui/top-bar.tsx";
import { CategoryCard } from "./category-card.tsx";
import { ClosingBand } from "./closing-band.tsx";
import { EmailPreview } from "./email-preview.tsx";
import { IncludedList } from "./included-list.tsx";
import { Purchase } from "./purchase.tsx";
import { Rating } from "./rating.tsx";
import { TemplateNotFound } from "./template-not-found.tsx";

/** The screen of a template, or of an unknown id. */
export function TemplatePage() {
  const template = findTemplate(useCatalogue(), useParams().id);
  return template ? <FoundTemplate template={template} /> : <TemplateNotFound />;
}

function FoundTemplate({ template }: { template: Template }) {
  usePageHead({
    title: `${template.title} - Professional ${PRODUCT} | Custom Email Designs That Convert`,
    description: template.description,
    path: paths.template(template.id),
  });

  return (
    <>
      <TopBar>
        <div className="flex min-w-0 flex-wrap items-center justify-end gap-x-3 sm:gap-x-4">
          <Badge category={template.category} />
          <Rating />
        </div>
      </TopBar>
      <main className="mx-auto max-w-wall px-5 sm:px-8 lg:px-12">
        {/* Narrow screens: one column with a sticky purchase area. Wide screens: two columns, the right one sticky. */}
        <div className="flex flex-col gap-6 py-5 sm:gap-8 sm:py-8 lg:grid lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)] lg:items-start lg:gap-x-12 xl:gap-x-16 lg:py-10">
          <div className="contents lg:sticky lg:top-20 lg:col-start-2 lg:row-start-1 lg:block lg:space-y-5">
            <Title template={template} />
            <Purchase template={template} />
            <section className="order-3">
              <h2 className="mb-3 text-lead">Key Features</h2>
              <CheckList items={template.features} />
            </section>
          </div>
          <div className="order-2 grid grid-cols-1 gap-8 lg:col-start-1 lg:row-start-1 sm:grid-cols-2">
            <div className="sm:col-span-2">
              <EmailPreview key={template.id} template={template} />
            </div>
            <CategoryCard category={template.category} />
            <IncludedList />
          </div>
        </div>
        <ClosingBand />
      </main>
    </>
  );
}

function Title({ template }: { template: Template }) {
  return (
    <div>
      <h1 tabIndex={-1} className="text-figure wrap-anywhere hyphens-auto sm:text-head">
        {template.title}
      </h1>
      <div className="mt-3 flex flex-wrap items-center gap-x-5 gap-y-1 border-y border-line py-3 lg:mt-4">
        <p className="font-display text-head leading-none">{template.price}</p>
        <p className="text-small text-ink-soft">
          <span className="block">One-time purchase</span>
          <span className="block">Instant download</span>
        </p>
      </div>
      <p className="mt-3 max-w-text text-ink-soft text-pretty lg:mt-4">{template.description}</p>
    </div>
  );
}
