import { useState } from "react";
import { describeTests } from "./model.ts";

interface TestSwitchProps {
  tests: { views: number; purchases: number };
  isCounted: boolean;
  onChange: (isCounted: boolean) => void;
}

/** Says what the figures leave out, and counts it on request. */
export function TestSwitch({ tests, isCounted, onChange }: TestSwitchProps) {
  // The address changes later than the box.
  const [isChecked, setChecked] = useState(isCounted);
  const text = describeTests(tests, isCounted);
  if (!text) return null;
  return (
    <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-1 rounded-large border border-line bg-sheet px-4 py-2">
      <p role="status">{text}</p>
      <label className="flex min-h-10 items-center gap-2.5 text-small">
        <input
          type="checkbox"
          checked={isChecked}
          onChange={(event) => {
            setChecked(event.target.checked);
            onChange(event.target.checked);
          }}
          className="size-4 accent-ink"
        />
        Count tests
      </label>
    </div>
  );
}
