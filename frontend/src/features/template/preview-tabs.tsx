import { type KeyboardEvent, useRef } from "react";
import { Slot } from "../../shared/slots.tsx";

interface PreviewTabsProps {
  id: string;
  label: string;
  tabs: readonly { key: string; name: string; view: string }[];
  active: number;
  onChoose: (index: number) => void;
}

/** Tabs by the pattern of WAI-ARIA: one is in the order of focus, arrow keys choose the others. */
export function PreviewTabs({ id, label, tabs, active, onChoose }: PreviewTabsProps) {
  const list = useRef<HTMLDivElement>(null);
  const choose = (index: number) => {
    onChoose(index);
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[index]?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const next = nextTab(event.key, active, tabs.length - 1);
    if (next === undefined) return;
    event.preventDefault();
    choose(next);
  };
  return (
    <div
      ref={list}
      role="tablist"
      aria-label={label}
      onKeyDown={onKeyDown}
      className="mb-4 flex w-full flex-wrap gap-1.5 print:hidden sm:gap-2 [@media(scripting:none)]:hidden"
    >
      {tabs.map(({ key, name, view }, index) => (
        <Slot key={key} {...(view === "further" && { name: "mails" })}>
          <button
            type="button"
            role="tab"
            id={`${id}-${key}`}
            aria-selected={index === active}
            aria-controls={`${id}-panel`}
            tabIndex={index === active ? 0 : -1}
            onClick={() => choose(index)}
            className="min-h-11 rounded-small border border-edge bg-paper px-3 whitespace-nowrap max-sm:px-2 max-sm:text-small transition-colors duration-150 hover:border-ink aria-selected:border-ink aria-selected:bg-ink aria-selected:text-paper sm:px-3.5"
          >
            {name}
          </button>
        </Slot>
      ))}
    </div>
  );
}

function nextTab(key: string, active: number, last: number): number | undefined {
  switch (key) {
    case "ArrowRight":
      return active === last ? 0 : active + 1;
    case "ArrowLeft":
      return active === 0 ? last : active - 1;
    case "Home":
      return 0;
    case "End":
      return last;
    default:
      return undefined;
  }
}
