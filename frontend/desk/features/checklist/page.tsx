import { CircleCheck, CircleDashed } from "lucide-react";
import { useQuery } from "../../shell/data/use-query.ts";
import { PageHeader } from "../../shell/frame/page-header.tsx";
import { Badge } from "../../shell/ui/badge.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { Skeleton } from "../../shell/ui/skeleton.tsx";
import { type ChecklistItem, loadChecklist } from "./api.ts";
import { TEXTS } from "./texts.tsx";

/** What the shop needs before it sells, and how to get it. */
export function ChecklistPage() {
  const { value, failure, reload } = useQuery("checklist", loadChecklist);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without a link in it, only this scrolls it by keyboard
    <section aria-label="Checklist" tabIndex={0} className="lg:h-full lg:overflow-y-auto">
      <PageHeader title="Checklist" />
      <div className="max-w-180 space-y-4 p-4 lg:px-5 lg:py-6">
        {failure && <FailureNotice failure={failure} onRetry={reload} />}
        {!value && !failure && <Skeleton className="h-80 w-full" />}
        {value && (
          <>
            <p className="text-ink-soft">
              {value.done === value.items.length
                ? "Everything is in place."
                : `${value.done} of ${value.items.length} are in place. The rest can wait until the shop is public.`}
            </p>
            <ol className="divide-y divide-line rounded-large border border-line bg-sheet">
              {value.items.map((item) => (
                <Item key={item.id} item={item} />
              ))}
            </ol>
          </>
        )}
      </div>
    </section>
  );
}

function Item({ item }: { item: ChecklistItem }) {
  const texts = TEXTS[item.id];
  if (!texts) return null;
  const Icon = item.done ? CircleCheck : CircleDashed;
  return (
    <li className="flex gap-3 p-4 lg:px-5">
      <Icon
        aria-hidden="true"
        className={`mt-0.5 size-5 shrink-0 ${item.done ? "text-ink" : "text-ink-soft"}`}
      />
      <div className="min-w-0 flex-1 space-y-1.5">
        <div className="flex flex-wrap items-center gap-2">
          <h2 className="text-body font-strong">{texts.title}</h2>
          <Badge tone={item.done ? "good" : "warning"}>{item.done ? "Done" : "Open"}</Badge>
        </div>
        <p className="text-ink-soft">{item.done ? texts.done : texts.why}</p>
        {texts.details && item.details.length > 0 && (
          <ul aria-label={texts.details} className="list-disc pl-5 text-small wrap-anywhere">
            {item.details.map((detail) => (
              <li key={detail}>{detail}</li>
            ))}
          </ul>
        )}
        {!item.done && (
          <p className="text-small wrap-anywhere [&_a]:underline [&_a]:underline-offset-4 [&_code]:rounded-small [&_code]:bg-wall [&_code]:px-1">
            {texts.remedy}
          </p>
        )}
      </div>
    </li>
  );
}
