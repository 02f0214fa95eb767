import { Dialog } from "../ui/dialog.tsx";
import type { Shortcut } from "./shortcut.ts";

interface HelpDialogProps {
  shortcuts: readonly Shortcut[];
  isOn: boolean;
  onSwitch: (isOn: boolean) => void;
  onClose: () => void;
}

/** The list of the shortcuts, and the switch that turns them off. */
export function HelpDialog({ shortcuts, isOn, onSwitch, onClose }: HelpDialogProps) {
  const labels = new Map(shortcuts.map(({ key, label }) => [key, label]));
  labels.set("?", "This list");
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl className={`divide-y divide-line ${isOn ? "" : "opacity-60"}`}>
        {[...labels].map(([key, label]) => (
          <div key={key} className="flex items-center justify-between gap-4 py-2">
            <dt>{label}</dt>
            <dd>
              <kbd className="grid size-7 place-items-center rounded-small border border-edge bg-wall font-text text-small font-strong">
                {key}
              </kbd>
            </dd>
          </div>
        ))}
      </dl>
      <label className="mt-4 flex min-h-10 items-center gap-3 text-small">
        <input
          type="checkbox"
          checked={isOn}
          onChange={(event) => onSwitch(event.target.checked)}
          className="size-4.5 accent-ink"
        />
        Use these keys in this browser
      </label>
    </Dialog>
  );
}
