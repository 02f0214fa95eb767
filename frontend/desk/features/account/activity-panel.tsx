import { History, ShieldAlert } from "lucide-react";
import { useState } from "react";
import { useAction } from "../../shell/data/use-action.ts";
import { useQuery } from "../../shell/data/use-query.ts";
import { Time } from "../../shell/format/time.tsx";
import { Button } from "../../shell/ui/button.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { Skeleton } from "../../shell/ui/skeleton.tsx";
import { type DeskEvent, loadActivity } from "./api.ts";
import { describeEvent, isRefusal } from "./model.ts";
import { Panel } from "./panel.tsx";

/** What all owners did at the desk, and who was refused. */
export function ActivityPanel() {
  const { value, failure, reload } = useQuery("account/activity", () => loadActivity());
  const latest = value?.events ?? [];
  const [kept, setKept] = useState<{ events: DeskEvent[]; hasMore: boolean }>();
  const loading = useAction(loadActivity, (page) =>
    setKept((before) => ({
      events: [...(before?.events ?? latest), ...page.events],
      hasMore: page.has_more,
    })),
  );
  // The first page is loaded again while those that were shown stay.
  const newest = kept?.events[0]?.id ?? 0;
  const events = [...latest.filter(({ id }) => id > newest), ...(kept?.events ?? [])];
  const last = events.at(-1);
  const hasMore = kept ? kept.hasMore : (value?.has_more ?? false);
  return (
    <Panel title="Activity">
      {failure && <FailureNotice failure={failure} onRetry={reload} />}
      {!value && !failure && <Skeleton className="h-40 w-full" />}
      {events.length > 0 && (
        <ul
          aria-label="Activity"
          className="divide-y divide-line rounded-medium border border-line"
        >
          {events.map((event) => (
            <li key={event.id} className="flex min-h-14 items-center gap-3 px-4 py-2">
              <EventIcon action={event.action} />
              <div className="min-w-0 flex-1">
                <p className="font-strong wrap-anywhere">
                  {describeEvent(event.action, event.subject)}
                </p>
                <p className="text-small wrap-anywhere text-ink-soft">
                  {event.email ?? "Not signed in"} · <Time at={event.at} />
                  {event.address && ` · ${event.address}`}
                </p>
              </div>
            </li>
          ))}
        </ul>
      )}
      {loading.failure && (
        <div className="mt-4">
          <FailureNotice failure={loading.failure} />
        </div>
      )}
      {hasMore && last && (
        <div className="mt-4">
          <Button isPending={loading.isPending} onClick={() => void loading.run(last.id)}>
            Show earlier activity
          </Button>
        </div>
      )}
    </Panel>
  );
}

function EventIcon({ action }: { action: string }) {
  const Icon = isRefusal(action) ? ShieldAlert : History;
  return <Icon aria-hidden="true" className="size-4 shrink-0 text-ink-soft" />;
}
