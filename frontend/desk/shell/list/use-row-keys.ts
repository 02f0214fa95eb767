import { useRef } from "react";
import { useNavigate } from "react-router-dom";
import { useShortcuts } from "../keyboard/shortcuts.tsx";

interface RowKeysOptions {
  /** The noun of an entry, for the help dialog. */
  noun: string;
  /** The addresses of the rows in their order. */
  addresses: readonly string[];
  /** The position of the open entry; -1 if none is open. */
  open: number;
}

/**
 * The keys j and k: they open the next and the previous entry while one is open, and otherwise move
 * the focus over the rows. Returns the element that contains the rows' links, marked `data-row`.
 */
export function useRowKeys({ noun, addresses, open }: RowKeysOptions) {
  const list = useRef<HTMLUListElement>(null);
  const navigate = useNavigate();

  function move(step: 1 | -1): void {
    const rows = [...(list.current?.querySelectorAll<HTMLElement>("[data-row]") ?? [])];
    if (open >= 0) {
      const address = addresses[open + step];
      if (address) {
        rows[open + step]?.scrollIntoView({ block: "nearest" });
        navigate(address, { replace: true });
      }
      return;
    }
    const focused = rows.indexOf(document.activeElement as HTMLElement);
    const target = rows[focused < 0 ? 0 : focused + step];
    target?.focus();
  }

  useShortcuts([
    { key: "j", label: `Next ${noun}`, run: () => move(1) },
    { key: "k", label: `Previous ${noun}`, run: () => move(-1) },
  ]);
  return list;
}
