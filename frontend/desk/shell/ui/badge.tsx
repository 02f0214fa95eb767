import type { ReactNode } from "react";

export type Tone = "info" | "good" | "warning" | "bad" | "neutral";

/** A state in its colour; the word says it without the colour. */
export function Badge({ tone, children }: { tone: Tone; children: ReactNode }) {
  return (
    <span
      data-tone={tone}
      className="inline-flex items-center rounded-small bg-badge px-1.5 py-px text-note font-strong whitespace-nowrap text-badge-ink"
    >
      {children}
    </span>
  );
}
