import type { ReactNode } from "react";
import { useEffect, useRef } from "react";
import { useTitle } from "../../shell/frame/title.ts";

interface AccessLayoutProps {
  /** The step, such as `Step 2 of 3`. */
  step?: string;
  title: string;
  introduction?: ReactNode;
  /** Whether the heading gets the focus: after another step. */
  takesFocus?: boolean;
  children: ReactNode;
}

/** The sheet of every step before a session. */
export function AccessLayout(props: AccessLayoutProps) {
  const { step, title, introduction, takesFocus = false, children } = props;
  useTitle(title);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (takesFocus) heading.current?.focus();
  }, [takesFocus]);
  return (
    <main className="grid min-h-dvh place-items-center px-4 py-8">
      <div className="w-full max-w-100">
        <div className="rounded-large border border-line bg-sheet p-6 shadow-low sm:p-8">
          {step && <p className="mb-1 text-small text-ink-soft">{step}</p>}
          <h1 ref={heading} tabIndex={-1} className="text-title">
            {title}
          </h1>
          {introduction && <div className="mt-2 text-small text-ink-soft">{introduction}</div>}
          <div className="mt-6">{children}</div>
        </div>
        <p className="mt-2 text-center text-small">
          <a
            href="/"
            className="inline-block py-2 text-ink-soft underline underline-offset-4 hover:text-ink"
          >
            Go to the shop
          </a>
        </p>
      </div>
    </main>
  );
}
