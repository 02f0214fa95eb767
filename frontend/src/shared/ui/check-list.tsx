import { Check } from "lucide-react";

/** A list with a check mark before each item. */
export function CheckList({ items, small = false }: { items: readonly string[]; small?: boolean }) {
  return (
    <ul className={small ? "space-y-1 text-small text-ink-soft" : "space-y-2.5"}>
      {items.map((item) => (
        <li key={item} className={`flex items-baseline ${small ? "gap-2" : "gap-3"}`}>
          <Check
            aria-hidden="true"
            strokeWidth={2.25}
            className={`shrink-0 self-start text-ink-soft ${small ? "mt-1 size-3.5" : "mt-1.5 size-4.5"}`}
          />
          <span className="min-w-0 wrap-anywhere">{item}</span>
        </li>
      ))}
    </ul>
  );
}
