import { Link } from "react-router-dom";
import { paths } from "../../shared/paths.ts";
import { usePrefetch } from "../../shared/prefetch.ts";
import { buttonClass } from "../../shared/ui/button.ts";

const STATS = [
  { figure: "1000+", label: "Happy customers" },
  { figure: "4.9★", label: "Average rating" },
  { figure: "24/7", label: "Support" },
];

/** The end of the screen: the link to custom designs, and three figures about the shop. */
export function ClosingBand() {
  const prefetch = usePrefetch("submission");
  return (
    <div className="grid gap-x-16 gap-y-10 border-t border-line py-10 sm:py-14 lg:grid-cols-2">
      <section className="flex flex-col items-start gap-5">
        <h2 className="text-title">Need Custom Work?</h2>
        <Link to={paths.submission} {...prefetch} className={buttonClass("plain")}>
          Request Custom Design
        </Link>
      </section>
      <dl className="grid grid-cols-3 gap-4 self-center">
        {STATS.map(({ figure, label }) => (
          <div key={label} className="flex flex-col-reverse justify-end">
            <dt className="text-small text-ink-soft">{label}</dt>
            <dd className="font-display text-title sm:text-figure">{figure}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
