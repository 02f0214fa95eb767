import { useState } from "react";
import type { Query } from "../../shell/data/use-query.ts";
import { formatPlural } from "../../shell/format/format.ts";
import { PageHeader } from "../../shell/frame/page-header.tsx";
import { Pager } from "../../shell/list/pager.tsx";
import type { StatusTab } from "../../shell/list/status-tabs.tsx";
import { StatusTabs } from "../../shell/list/status-tabs.tsx";
import type { Filters } from "../../shell/list/use-filters.ts";
import { useRowFocus } from "../../shell/list/use-row-focus.ts";
import { useRowKeys } from "../../shell/list/use-row-keys.ts";
import { Announcement } from "../../shell/ui/announcement.tsx";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { ListSkeleton } from "../../shell/ui/skeleton.tsx";
import { type ListFilters, STATUSES, type SubmissionList } from "./api.ts";
import { BulkBar } from "./bulk-bar.tsx";
import { ExportMenu } from "./export-menu.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { describeStatus } from "./model.ts";
import { NoSubmissions } from "./no-submissions.tsx";
import { SubmissionRow } from "./row.tsx";
import { ALL } from "./use-submissions.ts";

interface SubmissionsProps {
  list: Query<SubmissionList>;
  /** The filters of the request, and those of the address. */
  wanted: ListFilters;
  filters: Filters;
  /** The id of the open submission. */
  open: string | undefined;
}

/** The list with its tabs, its filters and the actions on several submissions. */
export function Submissions({ list, wanted, filters, open }: SubmissionsProps) {
  const { value, failure, isOutdated, reload } = list;
  const rows = value?.submissions ?? [];
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const selected = rows.filter(({ id }) => chosen.has(id)).map(({ id }) => id);
  const addresses = rows.map(({ id }) => `/submissions/${id}${filters.query}`);
  const position = rows.findIndex(({ id }) => id === open);
  const element = useRowKeys({ noun: "submission", addresses, open: position });
  useRowFocus(element, open);

  function choose(id: string, isChosen: boolean): void {
    const after = new Set(selected);
    if (isChosen) after.add(id);
    else after.delete(id);
    setChosen(after);
  }

  return (
    <>
      <PageHeader title="Submissions" actions={<ExportMenu filters={wanted} />}>
        <FilterBar filters={filters} />
        <StatusTabs
          label="Status"
          path="/submissions"
          name="status"
          tabs={statusTabs(value?.counts)}
        />
      </PageHeader>
      {selected.length > 0 && (
        <BulkBar
          ids={selected}
          total={rows.length}
          onAll={() => setChosen(new Set(rows.map(({ id }) => id)))}
          onNone={() => setChosen(new Set())}
        />
      )}
      {failure && (
        <div className="p-4 lg:px-5">
          <FailureNotice failure={failure} onRetry={reload} />
        </div>
      )}
      <Announcement>
        {value && !isOutdated ? formatPlural(rows.length, "submission") : ""}
      </Announcement>
      {!value && !failure && <ListSkeleton />}
      {value && (
        <div aria-busy={isOutdated} className={isOutdated ? "opacity-60" : ""}>
          {rows.length === 0 && (
            <NoSubmissions wanted={wanted} filters={filters} counts={value.counts} />
          )}
          <ul ref={element}>
            {rows.map((submission, row) => (
              <SubmissionRow
                key={submission.id}
                submission={submission}
                address={addresses[row] ?? ""}
                showsStatus={wanted.status === ""}
                isOpen={submission.id === open}
                isChosen={chosen.has(submission.id)}
                onChoose={choose}
              />
            ))}
          </ul>
          <Pager next={value.next} />
        </div>
      )}
    </>
  );
}

function statusTabs(counts: SubmissionList["counts"] | undefined): StatusTab[] {
  const tabs = STATUSES.map((status) => ({
    value: status === "new" ? "" : status,
    label: describeStatus(status).label,
    count: counts?.[status],
  }));
  return [...tabs, { value: ALL, label: "All" }];
}
