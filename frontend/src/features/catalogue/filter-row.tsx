import { type MouseEvent, useEffect, useRef } from "react";
import { paths } from "../../shared/paths.ts";
import { Slot } from "../../shared/slots.tsx";
import { useCatalogue } from "../../shared/templates/use-catalogue.ts";

interface FilterRowProps {
  active: string | undefined;
  /** Receives the category, or `undefined` for all. */
  onChoose: (category: string | undefined) => void;
}

/**
 * 'All' and one toggle per category; on narrow screens a row that scrolls horizontally. Without
 * JavaScript the buttons send the query of the category.
 */
export function FilterRow({ active, onChoose }: FilterRowProps) {
  const { categories } = useCatalogue();
  const row = useRef<HTMLFieldSetElement>(null);
  useEffect(() => {
    if (row.current) scrollIntoRow(row.current, row.current.querySelector('[aria-pressed="true"]'));
  });
  return (
    <form action={paths.catalogue} className="print:hidden">
      <fieldset
        ref={row}
        aria-label="Filter by category"
        className="row-fade -mx-5 flex min-w-0 gap-2 overflow-x-auto px-5 py-1.5 pr-12 sm:mx-0 sm:flex-wrap sm:overflow-visible sm:px-0 sm:[mask-image:none]"
      >
        <FilterButton category={undefined} isActive={active === undefined} onChoose={onChoose} />
        <Slot name="categories">
          {categories.map((category) => (
            <Slot key={category.name} of={category}>
              <FilterButton
                category={category.name}
                isActive={active === category.name}
                onChoose={onChoose}
              />
            </Slot>
          ))}
        </Slot>
      </fieldset>
    </form>
  );
}

interface FilterButtonProps {
  category: string | undefined;
  isActive: boolean;
  onChoose: (category: string | undefined) => void;
}

function FilterButton({ category, isActive, onChoose }: FilterButtonProps) {
  function onClick(event: MouseEvent): void {
    event.preventDefault();
    onChoose(category);
  }
  return (
    <button
      type="submit"
      name={category && "category"}
      value={category}
      aria-pressed={isActive}
      onClick={onClick}
      className="min-h-11 shrink-0 rounded-small border border-edge px-4 whitespace-nowrap transition-colors duration-150 hover:border-ink aria-pressed:border-ink aria-pressed:bg-ink aria-pressed:text-paper"
    >
      {category ?? "All"}
    </button>
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
