import { formatCount } from "../../shell/format/format.ts";
import type { Figures } from "./api.ts";
import { conversionOf, formatRevenue, METRICS, type Metric } from "./model.ts";

interface TotalsProps {
  totals: Figures["totals"];
  /** The metric of the chart. */
  metric: Metric;
  onChoose: (metric: Metric) => void;
}

const LABELS: Record<Metric, string> = {
  views: "Views",
  requests: "Requests",
  purchases: "Purchases",
};

const TILE = "flex min-h-24 flex-col items-start gap-1 p-4 text-left";

/** The totals of the range; the first three choose what the chart shows. */
export function Totals({ totals, metric, onChoose }: TotalsProps) {
  const conversion = conversionOf(totals);
  return (
    <section aria-label="Totals">
      <div className="grid grid-cols-2 gap-px overflow-hidden rounded-large border border-line bg-line lg:grid-cols-4">
        {METRICS.map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={name === metric}
            onClick={() => onChoose(name)}
            className={`${TILE} border-b-2 border-transparent bg-sheet -outline-offset-2 hover:bg-paper aria-pressed:border-accent`}
          >
            <span className="text-small text-ink-soft">{LABELS[name]}</span>
            <span className="text-figure font-strong">{formatCount(totals[name])}</span>
          </button>
        ))}
        <div className={`${TILE} bg-sheet`}>
          <span className="text-small text-ink-soft">Revenue</span>
          <span className="text-title font-strong wrap-anywhere">
            {formatRevenue(totals.revenue)}
          </span>
          {conversion !== undefined && (
            <span className="text-note text-ink-soft">
              {conversion.toFixed(1)} purchases per 100 views
            </span>
          )}
        </div>
      </div>
    </section>
  );
}
