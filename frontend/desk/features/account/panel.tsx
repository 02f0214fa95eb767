import type { ReactNode } from "react";

interface PanelProps {
  title: string;
  /** The action beside the heading. */
  action?: ReactNode;
  children: ReactNode;
}

/** A section of the screen. */
export function Panel({ title, action, children }: PanelProps) {
  return (
    <section className="rounded-large border border-line bg-sheet p-4 lg:p-5">
      <div className="mb-3 flex flex-wrap items-center justify-between gap-3">
        <h2 className="text-lead">{title}</h2>
        {action}
      </div>
      {children}
    </section>
  );
}
