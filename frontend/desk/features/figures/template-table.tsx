import { formatCount } from "../../shell/format/format.ts";
import type { TemplateFigures } from "./api.ts";
import { conversionOf, formatRevenue, rankTemplates } from "./model.ts";

/** The figures of each template, the most bought first. */
export function TemplateTable({ templates }: { templates: readonly TemplateFigures[] }) {
  const most = Math.max(1, ...templates.map(({ views }) => views));
  return (
    <section
      aria-label="Figures per template"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls the table
      tabIndex={0}
      className="edge-shadows overflow-x-auto rounded-large border border-line"
    >
      <table className="w-full min-w-136 text-right sm:min-w-150">
        <caption className="px-4 pt-4 pb-2 text-left font-strong lg:px-5">By template</caption>
        <thead>
          <tr className="text-small text-ink-soft [&>th]:px-2 [&>th]:py-2 [&>th]:font-text [&>th]:whitespace-nowrap sm:[&>th]:px-3">
            <th scope="col" className="pl-4! text-left lg:pl-5!">
              Template
            </th>
            <th scope="col">Views</th>
            <th scope="col">Requests</th>
            <th scope="col">Purchases</th>
            <th scope="col">Per 100 views</th>
            <th scope="col" className="pr-4! lg:pr-5!">
              Revenue
            </th>
          </tr>
        </thead>
        <tbody>
          {rankTemplates(templates).map((template) => (
            <tr
              key={template.id}
              className="border-t border-line [&>*]:px-2 [&>*]:py-2.5 sm:[&>*]:px-3"
            >
              <th scope="row" className="pl-4! text-left font-strong lg:pl-5!">
                {template.title}
              </th>
              <td>
                <span className="flex items-center justify-end gap-2.5">
                  <ViewBar share={template.views / most} />
                  {formatCount(template.views)}
                </span>
              </td>
              <td>{formatCount(template.requests)}</td>
              <td>{formatCount(template.purchases)}</td>
              <td className="text-ink-soft">{conversionOf(template)?.toFixed(1) ?? "–"}</td>
              <td className="pr-4! lg:pr-5!">{formatRevenue(template.revenue)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** The share of the views, drawn beside the number. */
function ViewBar({ share }: { share: number }) {
  return (
    <svg aria-hidden="true" width="64" height="6" className="hidden sm:block">
      <rect width="64" height="6" rx="3" className="fill-wall" />
      <rect width={64 * share} height="6" rx="3" className="fill-chart" />
    </svg>
  );
}
