import { ArrowLeft } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "react-router-dom";
import { RETURNING } from "../catalogue-place.ts";
import { useCataloguePath } from "../use-catalogue-path.ts";

/** The sticky bar with the link back to the catalogue, and further content of the screen. */
export function TopBar({ children }: { children?: ReactNode }) {
  return (
    <header className="top-0 z-20 border-b border-line bg-paper tall:sticky print:hidden">
      <div className="mx-auto flex min-h-16 max-w-wall items-center justify-between gap-x-3 px-5 py-2 sm:px-8 lg:px-12">
        <Link
          to={useCataloguePath()}
          state={RETURNING}
          className="-ml-1 inline-flex min-h-11 min-w-min shrink-[99] items-center gap-2 px-1 text-small font-strong sm:text-body decoration-1 underline-offset-4 hover:underline"
        >
          <ArrowLeft aria-hidden="true" className="size-5" />
          Back to Templates
        </Link>
        {children}
      </div>
    </header>
  );
}
