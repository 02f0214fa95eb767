import {
  createContext,
  type ReactNode,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { HelpDialog } from "./help-dialog.tsx";
import { areShortcutsOn, keepShortcutsOn } from "./preference.ts";
import type { Shortcut } from "./shortcut.ts";

interface Registry {
  /** Adds shortcuts of a screen; returns a function that removes them. */
  add: (shortcuts: { current: readonly Shortcut[] }) => () => void;
  openHelp: () => void;
}

const ShortcutContext = createContext<Registry>({ add: () => () => {}, openHelp: () => {} });

/** Adds shortcuts while the component is shown. The latest ones of a key win. */
export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  const { add } = useContext(ShortcutContext);
  const latest = useRef(shortcuts);
  useEffect(() => {
    latest.current = shortcuts;
  });
  useEffect(() => add(latest), [add]);
}

/** Returns the function that opens the list of shortcuts. */
export function useShortcutHelp(): () => void {
  return useContext(ShortcutContext).openHelp;
}

/** Listens for the shortcuts of the shown screen, and shows their list for the key ?. */
export function ShortcutProvider({ children }: { children: ReactNode }) {
  const groups = useRef(new Set<{ current: readonly Shortcut[] }>());
  const [isOn, setOn] = useState(areShortcutsOn);
  const [shown, setShown] = useState<readonly Shortcut[]>();

  const registry = useMemo<Registry>(
    () => ({
      add(shortcuts) {
        groups.current.add(shortcuts);
        return () => groups.current.delete(shortcuts);
      },
      openHelp: () => setShown([...groups.current].flatMap((group) => group.current)),
    }),
    [],
  );

  useEffect(() => {
    if (!isOn) return;
    function onKeyDown(event: KeyboardEvent): void {
      if (!isForShortcuts(event)) return;
      if (event.key === "?") registry.openHelp();
      const found = [...groups.current]
        .flatMap((group) => group.current)
        .findLast(({ key }) => key === event.key);
      if (found || event.key === "?") event.preventDefault();
      found?.run();
    }
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [isOn, registry]);

  return (
    <ShortcutContext value={registry}>
      {children}
      {shown && (
        <HelpDialog
          shortcuts={shown}
          isOn={isOn}
          onSwitch={(wanted) => {
            keepShortcutsOn(wanted);
            setOn(wanted);
          }}
          onClose={() => setShown(undefined)}
        />
      )}
    </ShortcutContext>
  );
}

/** Tells whether a key is not meant for a field, a dialog or the browser. */
function isForShortcuts(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return false;
  if (document.querySelector("dialog[open]")) return false;
  const target = event.target;
  return !(
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) &&
    target.getAttribute("type") !== "checkbox"
  );
}
