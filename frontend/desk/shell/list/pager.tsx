import { ChevronLeft, ChevronRight } from "lucide-react";
import { Link, useLocation, useNavigate } from "react-router-dom";
import { Button, buttonClass } from "../ui/button.tsx";
import { withChanges } from "./use-filters.ts";

/** The links to older and newer entries of a list. */
export function Pager({ next }: { next: string | null | undefined }) {
  const { pathname, search, state } = useLocation();
  const navigate = useNavigate();
  const parameters = new URLSearchParams(search);
  const isFirst = !parameters.has("before");
  if (isFirst && !next) return null;
  // Cursors only lead to older entries, so the way back is the history of this visit.
  const hasCome = (state as { isPaged?: boolean } | null)?.isPaged === true;
  const first = `${pathname}?${withChanges(parameters, { before: "" })}`;
  return (
    <nav aria-label="Pages" className="flex items-center justify-between gap-2 px-4 py-3 lg:px-5">
      <Button
        icon={ChevronLeft}
        isDisabled={isFirst}
        onClick={() => (hasCome ? navigate(-1) : navigate(first))}
      >
        {hasCome || isFirst ? "Newer" : "Newest"}
      </Button>
      {next ? (
        <Link
          to={`${pathname}?${withChanges(parameters, { before: next })}`}
          state={{ isPaged: true }}
          className={buttonClass("plain")}
        >
          Older
          <ChevronRight aria-hidden="true" className="size-4" />
        </Link>
      ) : (
        <p className="text-small text-ink-soft">This is the end of the list.</p>
      )}
    </nav>
  );
}
