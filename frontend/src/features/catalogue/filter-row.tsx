import { useEffect, useRef } from "react";
import { CATEGORIES, type Category } from "../../shared/templates/templates.ts";

interface FilterRowProps {
  active: Category | undefined;
  /** Called with the category, or with `undefined` for all. */
  onChoose: (category: Category | undefined) => void;
}

/** 'All' and one toggle per category. On a phone it is one row that scrolls sideways. */
export function FilterRow({ active, onChoose }: FilterRowProps) {
  const row = useRef<HTMLFieldSetElement>(null);
  useEffect(() => {
    if (row.current) reveal(row.current, row.current.querySelector('[aria-pressed="true"]'));
  });
  return (
    <fieldset
      ref={row}
      aria-label="Filter by category"
      className="row-fade -mx-5 flex min-w-0 gap-2 overflow-x-auto px-5 py-1.5 pr-12 sm:mx-0 sm:flex-wrap sm:overflow-visible sm:px-0 sm:[mask-image:none]"
    >
      {[undefined, ...CATEGORIES].map((category) => (
        <button
          key={category ?? "All"}
          type="button"
          aria-pressed={active === category}
          onClick={() => onChoose(category)}
          className="min-h-11 shrink-0 rounded-small border border-edge px-4 whitespace-nowrap transition-colors duration-150 hover:border-ink aria-pressed:border-ink aria-pressed:bg-ink aria-pressed:text-paper"
        >
          {category ?? "All"}
        </button>
      ))}
    </fieldset>
  );
}

/** Scrolls the row, and only the row, so far that the pressed button is clear of its faded edge. */
function reveal(row: HTMLElement, button: HTMLElement | null): void {
  if (!button || row.scrollWidth <= row.clientWidth) return;
  const margin = 48;
  const start = button.offsetLeft - row.offsetLeft;
  const end = start + button.offsetWidth;
  if (start < row.scrollLeft + margin) row.scrollLeft = start - margin;
  else if (end > row.scrollLeft + row.clientWidth - margin)
    row.scrollLeft = end - row.clientWidth + margin;
}
