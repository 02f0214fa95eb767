import type { ReactNode } from "react";

interface SplitViewProps {
  /** The name of the list, for screen readers. */
  label: string;
  list: ReactNode;
  /** The open entry; the list has the whole width without one. */
  detail: ReactNode | undefined;
}

/** A list and beside it the open entry; on a phone the entry replaces the list. */
export function SplitView({ label, list, detail }: SplitViewProps) {
  const isOpen = detail !== undefined;
  return (
    <div
      className={`lg:grid lg:h-full ${isOpen ? "lg:grid-cols-[minmax(20rem,25rem)_minmax(0,1fr)]" : ""}`}
    >
      <section
        aria-label={label}
        className={`@container min-w-0 lg:overflow-y-auto ${isOpen ? "border-line max-lg:hidden lg:border-r" : ""}`}
      >
        {list}
      </section>
      {isOpen && <div className="min-w-0 bg-sheet lg:overflow-y-auto">{detail}</div>}
    </div>
  );
}
