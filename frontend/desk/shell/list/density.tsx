import { Rows3, Rows4 } from "lucide-react";
import { useSyncExternalStore } from "react";
import { Button } from "../ui/button.tsx";

const NAME = "desk-density";
const COMPACT = "compact";

const listeners = new Set<() => void>();

/** Tells whether lists are compact, which is a preference of this browser. */
function isCompact(): boolean {
  return document.documentElement.dataset.density === COMPACT;
}

function setCompact(isOn: boolean): void {
  if (isOn) document.documentElement.dataset.density = COMPACT;
  else delete document.documentElement.dataset.density;
  for (const listener of listeners) listener();
}

/** Applies the kept density; called once before the first rendering. */
export function applyDensity(): void {
  try {
    setCompact(localStorage.getItem(NAME) === COMPACT);
  } catch {
    // The browser keeps no preferences.
  }
}

function keepDensity(isOn: boolean): void {
  setCompact(isOn);
  try {
    localStorage.setItem(NAME, isOn ? COMPACT : "comfortable");
  } catch {
    // The choice holds for this page.
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Chooses between rows with air and more rows on wide screens. */
export function DensityButton() {
  const isOn = useSyncExternalStore(subscribe, isCompact);
  return (
    <Button
      icon={isOn ? Rows3 : Rows4}
      kind="quiet"
      className="max-lg:hidden"
      aria-pressed={isOn}
      onClick={() => keepDensity(!isOn)}
    >
      Compact rows
    </Button>
  );
}
