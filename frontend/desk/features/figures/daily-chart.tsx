import { BarChart } from "../../shell/chart/bar-chart.tsx";
import { formatCount, formatFullDay } from "../../shell/format/format.ts";
import type { Day } from "./api.ts";
import { barsOf, isWeekly, type Metric } from "./model.ts";

const TITLES: Record<Metric, string> = {
  views: "Views",
  requests: "Requests",
  purchases: "Purchases",
};

/** The chart of a metric, and all values as a table. */
export function DailyChart({ days, metric }: { days: readonly Day[]; metric: Metric }) {
  const bars = barsOf(days, metric);
  const rhythm = isWeekly(days) ? "week" : "day";
  const preposition = rhythm === "week" ? "in the week of" : "on";
  const highest = bars.reduce((best, bar) => (bar.value > best.value ? bar : best), {
    value: 0,
    title: "",
    label: "",
  });
  const peak =
    highest.value === 0
      ? `No ${metric} in this range.`
      : `Highest: ${formatCount(highest.value)} ${preposition} ${highest.title}.`;
  return (
    <section
      aria-labelledby="chart"
      className="rounded-large border border-line bg-sheet p-4 lg:p-5"
    >
      <h2 id="chart" className="mb-1">
        {TITLES[metric]} per {rhythm}
      </h2>
      <BarChart
        summary={`Bar chart: ${metric} per ${rhythm}. ${peak} The table below has all values.`}
        caption={peak}
        bars={bars}
        unit={metric}
      />
      <details className="mt-4 text-small">
        <summary className="min-h-8 w-fit cursor-pointer py-1 text-ink-soft hover:text-ink">
          Show as a table
        </summary>
        <DayTable days={days} />
      </details>
    </section>
  );
}

function DayTable({ days }: { days: readonly Day[] }) {
  return (
    <section
      aria-label="Values per day"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls the table
      tabIndex={0}
      className="mt-2 max-h-96 overflow-auto rounded-medium border border-line"
    >
      <table className="w-full text-right">
        <thead className="sticky top-0 bg-wall">
          <tr className="[&>th]:px-3 [&>th]:py-2 [&>th]:font-strong">
            <th scope="col" className="text-left">
              Day
            </th>
            <th scope="col">Views</th>
            <th scope="col">Requests</th>
            <th scope="col">Purchases</th>
          </tr>
        </thead>
        <tbody>
          {days.toReversed().map(({ date, views, requests, purchases }) => (
            <tr key={date} className="border-t border-line [&>*]:px-3 [&>*]:py-1.5">
              <th scope="row" className="text-left font-text whitespace-nowrap">
                {formatFullDay(date)}
              </th>
              <td>{formatCount(views)}</td>
              <td>{formatCount(requests)}</td>
              <td>{formatCount(purchases)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
