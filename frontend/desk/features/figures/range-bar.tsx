import { type FormEvent, useState } from "react";
import { Button } from "../../shell/ui/button.tsx";
import { TextField } from "../../shell/ui/field.tsx";
import { checkRange, PRESETS, type Range } from "./model.ts";

interface RangeBarProps {
  range: Range & { days?: number };
  /** Receives changes of the address. */
  onChange: (changes: Record<string, string>) => void;
}

/** The range of the figures: a number of days until today, or two days. */
export function RangeBar({ range, onChange }: RangeBarProps) {
  const [isCustom, setCustom] = useState(range.days === undefined);
  const [from, setFrom] = useState(range.from);
  const [to, setTo] = useState(range.to);
  const [error, setError] = useState<string>();

  function onSubmit(event: FormEvent): void {
    event.preventDefault();
    const found = checkRange({ from, to });
    setError(found);
    if (!found) onChange({ from, to, days: "" });
  }

  return (
    <div className="pb-3">
      <fieldset aria-label="Range" className="flex min-w-0 flex-wrap gap-1 sm:gap-1.5">
        {PRESETS.map((days) => (
          <Choice
            key={days}
            isPressed={!isCustom && range.days === days}
            onClick={() => {
              setCustom(false);
              onChange({ days: String(days), from: "", to: "" });
            }}
          >
            {days === 365 ? "1 year" : `${days} days`}
          </Choice>
        ))}
        <Choice isPressed={isCustom} onClick={() => setCustom(true)}>
          Custom
        </Choice>
      </fieldset>
      {isCustom && (
        <form noValidate onSubmit={onSubmit} className="mt-3 flex flex-wrap items-end gap-3">
          <TextField
            label="First day"
            type="date"
            value={from}
            error={error}
            onChange={(event) => setFrom(event.target.value)}
          />
          <TextField
            label="Last day"
            type="date"
            value={to}
            onChange={(event) => setTo(event.target.value)}
          />
          <Button type="submit" className="lg:min-h-10">
            Show
          </Button>
        </form>
      )}
    </div>
  );
}

interface ChoiceProps {
  isPressed: boolean;
  onClick: () => void;
  children: string;
}

function Choice({ isPressed, onClick, children }: ChoiceProps) {
  return (
    <button
      type="button"
      aria-pressed={isPressed}
      onClick={onClick}
      className="min-h-9 rounded-medium border border-edge bg-sheet px-2 text-small sm:px-3 text-ink-soft hover:border-ink-soft hover:text-ink aria-pressed:border-ink aria-pressed:bg-ink aria-pressed:font-strong aria-pressed:text-paper"
    >
      {children}
    </button>
  );
}
