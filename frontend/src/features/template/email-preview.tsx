import { type KeyboardEvent, useId, useRef, useState } from "react";
import type { Template } from "../../shared/templates/catalogue.ts";
import { usePreview } from "../../shared/templates/use-preview.ts";
import { buttonClass } from "../../shared/ui/button.ts";
import { PicturePlaceholder } from "../../shared/ui/picture-placeholder.tsx";
import { ProofPicture } from "../../shared/ui/proof-picture.tsx";

const VIEWS = [
  { name: "Desktop", view: "detail", note: undefined },
  { name: "Phone", view: "phone", note: "The same email on a phone." },
  { name: "Dark", view: "dark", note: "The same email in a dark mailbox." },
  {
    name: "Images off",
    view: "unloaded",
    note: "The same email with images off: a text stands in place of each picture.",
  },
] as const;

const SIZES = "(min-width: 80rem) 32vw, (min-width: 64rem) 52vw, 90vw";
const PHONE_SIZES = "(min-width: 80rem) 21vw, (min-width: 64rem) 34vw, 90vw";

/**
 * Pictures of the files that a buyer gets, one view at a time, cropped to the top. A button shows the whole, also
 * without JavaScript, where there is the first view only.
 */
export function EmailPreview({ template }: { template: Template }) {
  const preview = usePreview(template.id);
  const [active, setActive] = useState(0);
  const id = useId();
  const label = preview?.alt ?? template.title;
  const placeholder = <PicturePlaceholder label={label} category={template.category} />;
  if (!preview) return <div className="proof">{placeholder}</div>;
  const { view, note } = VIEWS[active] ?? VIEWS[0];
  return (
    <div className="proof group/crop flex flex-col">
      <PreviewTabs id={id} label={template.title} active={active} onChoose={setActive} />
      <div
        role="tabpanel"
        id={`${id}-panel`}
        aria-labelledby={`${id}-${active}`}
        className="crop-fade max-h-[26rem] overflow-hidden group-has-[details[open]]/crop:max-h-none group-has-[details[open]]/crop:[mask-image:none] sm:max-h-[38rem]"
      >
        <ProofPicture
          key={view}
          picture={preview[view]}
          alt={note ?? preview.alt}
          sizes={view === "phone" ? PHONE_SIZES : SIZES}
          first={active === 0}
          className={`mx-auto h-auto bg-sheet shadow-high ${view === "phone" ? "w-full sm:w-13/20" : "w-full"}`}
          fallback={placeholder}
        />
      </div>
      <details className="mt-4 print:hidden">
        <summary
          className={`${buttonClass("plain")} w-full cursor-pointer list-none bg-paper [&::-webkit-details-marker]:hidden`}
        >
          See the whole email
        </summary>
      </details>
    </div>
  );
}

interface PreviewTabsProps {
  id: string;
  label: string;
  active: number;
  onChoose: (index: number) => void;
}

/** Tabs by the pattern of WAI-ARIA: one is in the order of focus, arrow keys choose the others. */
function PreviewTabs({ id, label, active, onChoose }: PreviewTabsProps) {
  const tabs = useRef<HTMLDivElement>(null);
  const choose = (index: number) => {
    onChoose(index);
    tabs.current?.querySelectorAll<HTMLElement>("[role=tab]")[index]?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const next = nextTab(event.key, active);
    if (next === undefined) return;
    event.preventDefault();
    choose(next);
  };
  return (
    <div
      ref={tabs}
      role="tablist"
      aria-label={label}
      onKeyDown={onKeyDown}
      className="mb-4 flex flex-wrap gap-1.5 print:hidden sm:gap-2 [@media(scripting:none)]:hidden"
    >
      {VIEWS.map(({ name }, index) => (
        <button
          key={name}
          type="button"
          role="tab"
          id={`${id}-${index}`}
          aria-selected={index === active}
          aria-controls={`${id}-panel`}
          tabIndex={index === active ? 0 : -1}
          onClick={() => choose(index)}
          className="min-h-11 rounded-small border border-edge bg-paper px-3 whitespace-nowrap max-sm:px-2 max-sm:text-small transition-colors duration-150 hover:border-ink aria-selected:border-ink aria-selected:bg-ink aria-selected:text-paper sm:px-4"
        >
          {name}
        </button>
      ))}
    </div>
  );
}

function nextTab(key: string, active: number): number | undefined {
  const last = VIEWS.length - 1;
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
