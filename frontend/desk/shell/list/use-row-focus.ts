import { type RefObject, useEffect, useRef } from "react";

/** Returns the focus to the row of an entry that was closed. Rows are links with `data-row={id}`. */
export function useRowFocus(
  list: RefObject<HTMLUListElement | null>,
  open: string | undefined,
): void {
  const last = useRef(open);
  useEffect(() => {
    const closed = last.current;
    last.current = open;
    if (closed === undefined || open !== undefined) return;
    const rows = [...(list.current?.querySelectorAll<HTMLElement>("[data-row]") ?? [])];
    rows.find((row) => row.dataset.row === closed)?.focus();
  }, [open, list]);
}
