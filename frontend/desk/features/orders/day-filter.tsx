import { CalendarRange } from "lucide-react";
import { type FormEvent, useId, useState } from "react";
import { Button } from "../../shell/ui/button.tsx";
import { TextField } from "../../shell/ui/field.tsx";
import { checkDays } from "./model.ts";

interface DayFilterProps {
  /** The first and the last day, both included; `""` without a limit. */
  from: string;
  to: string;
  onChange: (days: { from: string; to: string }) => void;
}

/** Limits the orders to days of their payment. */
export function DayFilter(props: DayFilterProps) {
  const [isOpen, setOpen] = useState(props.from !== "" || props.to !== "");
  const form = useId();
  return (
    <>
      <Button
        icon={CalendarRange}
        className="max-sm:px-2.5"
        aria-expanded={isOpen}
        aria-controls={form}
        onClick={() => setOpen(!isOpen)}
      >
        Dates
      </Button>
      <div id={form} hidden={!isOpen} className="order-last w-full">
        {/* The address can change without the form: by the back button, for example. */}
        <DayForm key={`${props.from} ${props.to}`} {...props} />
      </div>
    </>
  );
}

function DayForm(props: DayFilterProps) {
  const [from, setFrom] = useState(props.from);
  const [to, setTo] = useState(props.to);
  const [error, setError] = useState<string>();

  function onSubmit(event: FormEvent): void {
    event.preventDefault();
    const found = checkDays({ from, to });
    setError(found);
    if (!found) props.onChange({ from, to });
  }

  return (
    <form noValidate onSubmit={onSubmit} className="flex flex-wrap items-end gap-2">
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
      {(props.from || props.to) && (
        <Button
          kind="quiet"
          className="lg:min-h-10"
          onClick={() => props.onChange({ from: "", to: "" })}
        >
          All days
        </Button>
      )}
      <p className="w-full text-small text-ink-soft">
        Both days are part of the list. A day begins at midnight UTC.
      </p>
    </form>
  );
}
