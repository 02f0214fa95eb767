import type { ReactNode } from "react";

interface NoticeProps {
  /** A number in large type above the heading. */
  figure?: string;
  heading: string;
  /** The link to another screen. */
  children: ReactNode;
}

/** A screen with one message, on a sheet in the middle. */
export function Notice({ figure, heading, children }: NoticeProps) {
  return (
    <main className="grid min-h-dvh place-items-center px-5 py-10 sm:px-8">
      <div className="proof w-full max-w-form">
        <div className="flex flex-col items-start gap-8 border border-line bg-sheet px-6 py-12 shadow-low sm:px-14 sm:py-20">
          <div>
            {figure && (
              <p className="mb-3 font-display text-[min(22vw,11rem)] leading-none font-book tracking-tight">
                {figure}
              </p>
            )}
            <h1 tabIndex={-1} className="text-figure wrap-anywhere hyphens-auto sm:text-head">
              {heading}
            </h1>
          </div>
          {children}
        </div>
      </div>
    </main>
  );
}
