import type { ReactNode } from "react";
import { useHeadingFocus, useTitle } from "./title.ts";

interface PageHeaderProps {
  title: string;
  /** The actions of the screen, at the right. */
  actions?: ReactNode;
  /** Filters below the title. */
  children?: ReactNode;
}

/** The heading of a screen with its actions and filters. */
export function PageHeader({ title, actions, children }: PageHeaderProps) {
  useTitle(title);
  const heading = useHeadingFocus();
  return (
    <div className="border-b border-line px-4 pt-4 lg:px-5">
      <div className="flex min-h-10 flex-wrap items-center justify-between gap-x-4 gap-y-2 pb-3">
        <h1 ref={heading} tabIndex={-1} className="text-title">
          {title}
        </h1>
        {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </div>
      {children}
    </div>
  );
}
