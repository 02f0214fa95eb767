import type { Template } from "../../shared/templates/templates.ts";
import { CheckList } from "../../shared/ui/check-list.tsx";

/** The price and the features of a template. */
export function Summary({ template }: { template: Template }) {
  return (
    <section>
      <div className="flex flex-wrap items-end gap-x-5 gap-y-2 border-y border-line py-5">
        <p className="font-display text-head leading-none">{template.price}</p>
        <p className="text-small text-ink-soft">
          <span className="block">One-time purchase</span>
          <span className="block">Instant download</span>
        </p>
      </div>
      <h2 className="mt-8 mb-4 text-lead">Key Features</h2>
      <CheckList items={template.features} />
    </section>
  );
}
