import { Search, X } from "lucide-react";
import { useEffect, useId, useRef, useState } from "react";
import { useShortcuts } from "../keyboard/shortcuts.tsx";

/** Milliseconds without a key after which the text is searched. */
const PAUSE = 300;

interface SearchFieldProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
}

/** A field that searches while it is written in. The key / leads to it. */
export function SearchField({ label, value, onChange }: SearchFieldProps) {
  const [text, setText] = useState(value);
  const [known, setKnown] = useState(value);
  const field = useRef<HTMLInputElement>(null);
  const id = useId();
  // The value also changes with the address: by the back button, for example.
  if (value !== known) {
    setKnown(value);
    setText(value);
  }
  useShortcuts([{ key: "/", label: "Search", run: () => field.current?.focus() }]);
  useEffect(() => {
    const wanted = text.trim();
    if (wanted === value) return;
    const timer = setTimeout(() => onChange(wanted), PAUSE);
    return () => clearTimeout(timer);
  }, [text, value, onChange]);
  return (
    <div className="relative min-w-0 flex-1">
      <label htmlFor={id} className="sr-only">
        {label}
      </label>
      <Search
        aria-hidden="true"
        className="pointer-events-none absolute top-3 left-3 size-4 text-ink-soft"
      />
      <input
        ref={field}
        id={id}
        type="search"
        placeholder={label}
        maxLength={200}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape" && text === "") event.currentTarget.blur();
          else if (event.key === "Escape") setText("");
        }}
        className="min-h-10 w-full rounded-medium border border-edge bg-sheet pr-10 pl-9 text-body placeholder:text-ink-soft [&::-webkit-search-cancel-button]:hidden"
      />
      {text && (
        <button
          type="button"
          onClick={() => {
            setText("");
            field.current?.focus();
          }}
          className="absolute top-1 right-1 grid size-8 place-items-center rounded-small text-ink-soft hover:text-ink"
        >
          <X aria-hidden="true" className="size-4" />
          <span className="sr-only">Clear the search</span>
        </button>
      )}
    </div>
  );
}
