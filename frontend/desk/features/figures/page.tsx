import { useState } from "react";
import { useQuery } from "../../shell/data/use-query.ts";
import { PageHeader } from "../../shell/frame/page-header.tsx";
import { useFilters } from "../../shell/list/use-filters.ts";
import { FailureNotice } from "../../shell/ui/failure-notice.tsx";
import { loadFigures } from "./api.ts";
import { DailyChart } from "./daily-chart.tsx";
import { FiguresSkeleton } from "./figures-skeleton.tsx";
import { type Metric, rangeOf } from "./model.ts";
import { RangeBar } from "./range-bar.tsx";
import { TemplateTable } from "./template-table.tsx";
import { TestSwitch } from "./test-switch.tsx";
import { Totals } from "./totals.tsx";

/** How often templates were seen, requested and bought. */
export function FiguresPage() {
  const filters = useFilters();
  const range = rangeOf(filters.get);
  const { from, to } = range;
  const hasTests = filters.get("tests") === "included";
  const { value, failure, isOutdated, reload } = useQuery(`figures?${from}.${to}.${hasTests}`, () =>
    loadFigures(from, to, hasTests),
  );
  const [metric, setMetric] = useState<Metric>("views");
  return (
    <div className="lg:h-full lg:overflow-y-auto">
      <PageHeader title="Figures">
        <RangeBar key={`${from} ${to}`} range={range} onChange={filters.set} />
      </PageHeader>
      <div className="max-w-320 space-y-6 p-4 lg:px-5 lg:py-6">
        {failure && <FailureNotice failure={failure} onRetry={reload} />}
        {!value && !failure && <FiguresSkeleton />}
        {value && (
          <TestSwitch
            tests={value.tests}
            isCounted={hasTests}
            onChange={(isCounted) => filters.set({ tests: isCounted ? "included" : "" })}
          />
        )}
        {value && (
          <div aria-busy={isOutdated} className={`space-y-6 ${isOutdated ? "opacity-60" : ""}`}>
            <Totals totals={value.totals} metric={metric} onChoose={setMetric} />
            <DailyChart days={value.days} metric={metric} />
            <TemplateTable templates={value.templates} />
            <p className="text-small text-ink-soft">
              Views are counted from page requests at the server, without cookies. A day begins at
              midnight UTC.
            </p>
          </div>
        )}
      </div>
    </div>
  );
}
