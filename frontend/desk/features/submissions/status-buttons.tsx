import { STATUSES, type Status } from "./api.ts";
import { describeStatus } from "./model.ts";

interface StatusButtonsProps {
  status: Status;
  onChange: (status: Status) => void;
}

/** The four statuses; the pressed one is the current. */
export function StatusButtons({ status, onChange }: StatusButtonsProps) {
  return (
    <fieldset
      aria-label="Status"
      className="flex min-w-0 rounded-medium border border-line bg-paper p-0.5"
    >
      {STATUSES.map((name) => (
        <button
          key={name}
          type="button"
          aria-pressed={name === status}
          onClick={() => name !== status && onChange(name)}
          className="min-h-9 rounded-small px-2.5 text-small text-ink-soft hover:text-ink aria-pressed:bg-ink aria-pressed:font-strong aria-pressed:text-paper sm:px-3 lg:min-h-8"
        >
          {describeStatus(name).label}
        </button>
      ))}
    </fieldset>
  );
}
