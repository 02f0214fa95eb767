import { ExternalLink } from "lucide-react";
import { DetailFailure } from "../../shell/frame/detail-failure.tsx";
import { DetailHeader } from "../../shell/frame/detail-header.tsx";
import { Badge } from "../../shell/ui/badge.tsx";
import { DetailSkeleton } from "../../shell/ui/skeleton.tsx";
import type { TemplateDetail } from "./api.ts";
import { TemplateEditor } from "./editor.tsx";
import { TemplateHistory } from "./history.tsx";
import { describeSaleState, explainSaleState } from "./model.ts";
import { Picture } from "./picture.tsx";
import { useTemplate } from "./use-catalogue.ts";

const BACK = "/catalogue";

/** An open template. */
export function TemplateView({ id }: { id: string }) {
  const { value, failure, reload } = useTemplate(id);
  if (failure && !value) {
    return (
      <DetailFailure
        title="Template"
        back={BACK}
        list="Catalogue"
        failure={failure}
        onRetry={reload}
      />
    );
  }
  if (!value) return <DetailSkeleton />;
  return <Opened template={value} />;
}

function Opened({ template }: { template: TemplateDetail }) {
  const { values, state, page } = template;
  const { label, tone } = describeSaleState(state);
  return (
    <article className="pb-8">
      <DetailHeader
        title={values.title}
        back={BACK}
        list="Catalogue"
        badges={
          <span className="flex flex-wrap gap-1.5">
            <Badge tone={tone}>{label}</Badge>
            {!values.visible && <Badge tone="warning">Hidden</Badge>}
          </span>
        }
      >
        <div className="mt-3 flex flex-wrap items-start gap-x-5 gap-y-3 border-b border-line pb-5">
          <Picture template={template} className="w-40" />
          <div className="min-w-56 flex-1 space-y-1">
            <p className="text-small text-ink-soft">{values.category}</p>
            <p className="max-w-text">{explainSaleState(state)}</p>
            {values.visible && (
              <a
                href={page}
                target="_blank"
                rel="noreferrer"
                className="inline-flex min-h-9 items-center gap-1.5 text-small underline underline-offset-4"
              >
                Open its page in the shop
                <ExternalLink aria-hidden="true" className="size-3.5" />
                <span className="sr-only">(new tab)</span>
              </a>
            )}
          </div>
        </div>
      </DetailHeader>
      <div className="space-y-7 px-4 pt-5 lg:px-7">
        <TemplateEditor template={template} />
        <TemplateHistory template={template} />
      </div>
    </article>
  );
}
