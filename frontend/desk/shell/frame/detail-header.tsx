import { ArrowLeft, X } from "lucide-react";
import { type ReactNode, useEffect } from "react";
import { Link, useNavigate } from "react-router-dom";
import { useHeadingFocus, useTitle } from "./title.ts";

interface DetailHeaderProps {
  title: string;
  /** The address of the list, with its filters, and its name. */
  back: string;
  list: string;
  /** Badges beside the title. */
  badges?: ReactNode;
  /** What is below the title. */
  children?: ReactNode;
}

/** The heading of an open entry, with the way back to the list. Escape goes back, too. */
export function DetailHeader({ title, back, list, badges, children }: DetailHeaderProps) {
  useTitle(title);
  const heading = useHeadingFocus();
  const navigate = useNavigate();
  useEffect(() => {
    window.scrollTo(0, 0);
    function onKeyDown(event: KeyboardEvent): void {
      const isBusy = event.defaultPrevented || document.querySelector("dialog[open]");
      const target = event.target as HTMLElement;
      if (event.key !== "Escape" || isBusy || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) {
        return;
      }
      navigate(back);
    }
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [back, navigate]);
  return (
    <div className="px-4 pt-3 lg:px-7 lg:pt-6">
      {/* A phone hides the list with its heading. */}
      <h1 className="sr-only lg:hidden">{list}</h1>
      <Link
        to={back}
        className="-ml-1 inline-flex min-h-10 items-center gap-2 rounded-small px-1 text-small font-strong text-ink-soft hover:text-ink lg:hidden"
      >
        <ArrowLeft aria-hidden="true" className="size-4" />
        {list}
      </Link>
      <div className="flex items-start justify-between gap-4">
        <div className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1.5 pt-1">
          <h2 ref={heading} tabIndex={-1} className="text-title wrap-anywhere">
            {title}
          </h2>
          {badges}
        </div>
        <Link
          to={back}
          title="Close (Esc)"
          className="grid size-9 shrink-0 place-items-center rounded-medium text-ink-soft hover:bg-wall hover:text-ink max-lg:hidden"
        >
          <X aria-hidden="true" className="size-4" />
          <span className="sr-only">Close</span>
        </Link>
      </div>
      {children}
    </div>
  );
}
