import { useEffect, useRef } from "react";
import { CATEGORIES, type Category } from "../../shared/templates/templates.ts";

interface FilterRowProps {
  active: Category | undefined;
  /** Receives the category, or `undefined` for all. */
  onChoose: (category: Category | undefined) => void;
}

/** 'All' and one toggle per category; on narrow screens a row that scrolls horizontally. */
export function FilterRow({ active, onChoose }: FilterRowProps) {
  const row = useRef<HTMLFieldSetElement>(null);
  useEffect(() => {
    if (row.current) scrollIntoRow(row.current, row.current.querySelector('[aria-pressed="true"]'));
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

/** Scrolls the row, without the page, until the pressed button is outside of its faded edge. */
function scrollIntoRow(row: HTMLElement, button: HTMLElement | null): void {
  if (!button || row.scrollWidth <= row.clientWidth) return;
  const margin = 48;
  const start = button.offsetLeft - row.offsetLeft;
  const end = start + button.offsetWidth;
  if (start < row.scrollLeft + margin) row.scrollLeft = start - margin;
  else if (end > row.scrollLeft + row.clientWidth - margin)
    row.scrollLeft = end - row.clientWidth + margin;
}
