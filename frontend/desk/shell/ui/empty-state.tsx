import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";

interface EmptyStateProps {
  icon: LucideIcon;
  title: string;
  children?: ReactNode;
}

/** Shown where there is nothing: why that is so, and what to do. */
export function EmptyState({ icon: Icon, title, children }: EmptyStateProps) {
  return (
    <div className="mx-auto flex max-w-100 flex-col items-center px-6 py-14 text-center">
      <span className="mb-4 grid size-12 place-items-center rounded-large border border-line bg-sheet text-ink-soft">
        <Icon aria-hidden="true" className="size-5" />
      </span>
      <p className="font-strong">{title}</p>
      {children && (
        <div className="mt-1.5 space-y-4 text-balance text-small text-ink-soft">{children}</div>
      )}
    </div>
  );
}
