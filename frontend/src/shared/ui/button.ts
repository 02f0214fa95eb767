/** `accent` is for the main action of a screen, `plain` for every other. */
export type ButtonKind = "accent" | "plain";

const SHAPE =
  "inline-flex min-h-12 items-center justify-center gap-2.5 rounded-small border px-[min(1.25rem,6vw)] py-2.5 text-center wrap-anywhere font-strong transition-colors duration-150";

const KIND: Record<ButtonKind, string> = {
  accent:
    "border-accent bg-accent text-on-accent hover:border-accent-deep hover:bg-accent-deep disabled:border-edge disabled:bg-wall disabled:text-ink-soft",
  plain: "border-edge bg-transparent text-ink hover:border-ink hover:bg-ink hover:text-paper",
};

/** Returns the classes of a button or of a link that looks like one. */
export function buttonClass(kind: ButtonKind): string {
  return `${SHAPE} ${KIND[kind]}`;
}
