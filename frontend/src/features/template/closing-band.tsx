import { Palette } from "lucide-react";
import { Link } from "react-router-dom";
import { paths } from "../../shared/paths.ts";
import { usePrefetch } from "../../shared/prefetch.ts";
import { buttonClass } from "../../shared/ui/button.ts";

const STATS = [
  { figure: "1000+", label: "Happy customers" },
  { figure: "4.9★", label: "Average rating" },
  { figure: "24/7", label: "Support" },
];

/** The end of the screen: the card about custom designs, and three figures about the shop. */
export function ClosingBand() {
  const prefetch = usePrefetch("submission");
  return (
    <div className="grid grid-cols-1 gap-x-16 gap-y-10 border-t border-line py-10 sm:py-14 lg:grid-cols-2">
      <section className="flex flex-col items-start gap-5 border border-line bg-sheet p-[min(1.5rem,7vw)] shadow-low sm:flex-row sm:items-center sm:justify-between sm:p-8 lg:flex-col lg:items-start xl:flex-row xl:items-center print:hidden">
        <div className="flex flex-wrap items-center gap-4 sm:flex-nowrap">
          <Palette aria-hidden="true" strokeWidth={1.5} className="size-9 shrink-0 text-ink-soft" />
          <h2 className="min-w-0 text-title wrap-anywhere">Need Custom Work?</h2>
        </div>
        <Link
          to={paths.submission}
          {...prefetch}
          className={`${buttonClass("plain")} max-w-full shrink-0`}
        >
          Request Custom Design
        </Link>
      </section>
      <dl className="flex flex-wrap justify-between gap-4 self-center">
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
