import { useEffect, useRef } from "react";
import { Link, useLocation } from "react-router-dom";
import { formatCount } from "../format/format.ts";
import { withChanges } from "./use-filters.ts";

/** One state of a list, with its number of entries, which is shown unless it is 0. */
export interface StatusTab {
  /** The value of the filter; `""` for the one that is shown without a filter. */
  value: string;
  label: string;
  count?: number | undefined;
}

interface StatusTabsProps {
  label: string;
  /** The path of the list, and the name of the filter in its address. */
  path: string;
  name: string;
  tabs: readonly StatusTab[];
}

/** Links to the states of a list, in a row that scrolls sideways on a phone. */
export function StatusTabs({ label, path, name, tabs }: StatusTabsProps) {
  const search = new URLSearchParams(useLocation().search);
  const current = search.get(name) ?? "";
  const row = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another tab is the current one
  useEffect(() => {
    if (row.current) scrollToCurrent(row.current);
  }, [current]);
  return (
    <nav
      ref={row}
      aria-label={label}
      className="-mx-4 overflow-x-auto px-4 [scrollbar-width:none] lg:-mx-5 lg:px-5"
    >
      <ul className="flex gap-1">
        {tabs.map(({ value, label, count }) => (
          <li key={value}>
            <Link
              to={`${path}?${withChanges(search, { [name]: value, before: "" })}`}
              aria-current={value === current ? "page" : undefined}
              className="flex min-h-10 items-center gap-1.5 border-b-2 border-transparent px-2 text-small whitespace-nowrap text-ink-soft hover:text-ink aria-[current]:border-accent aria-[current]:font-strong aria-[current]:text-ink"
            >
              {label}
              {count !== undefined && count > 0 && (
                <span className="min-w-5 rounded-small bg-wall px-1 text-center text-note text-ink-soft">
                  {formatCount(count)}
                </span>
              )}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** Scrolls the row, without the page, so that the current tab is in the middle. */
function scrollToCurrent(row: HTMLElement): void {
  const tab = row.querySelector<HTMLElement>("[aria-current]");
  if (tab)
    row.scrollLeft = tab.offsetLeft - row.offsetLeft - (row.clientWidth - tab.offsetWidth) / 2;
}
