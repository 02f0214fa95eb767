import { useCallback } from "react";
import { useSearchParams } from "react-router-dom";

/** The filters of a list, which are in the address. */
export interface Filters {
  /** Returns a filter; `""` if it is not set. */
  get: (name: string) => string;
  /** Changes filters and goes to the first page. `""` removes a filter. */
  set: (changes: Record<string, string>) => void;
  /** The address's query, with its question mark, for links that keep the filters. */
  query: string;
}

/** Reads and writes the filters of a list. */
export function useFilters(): Filters {
  const [search, setSearch] = useSearchParams();
  const get = (name: string) => search.get(name) ?? "";
  const set = useCallback(
    (changes: Record<string, string>) =>
      setSearch((before) => withChanges(before, { before: "", ...changes })),
    [setSearch],
  );
  const text = search.toString();
  return { get, set, query: text && `?${text}` };
}

/** Returns the parameters with changes; empty values are removed. */
export function withChanges(
  before: URLSearchParams,
  changes: Record<string, string>,
): URLSearchParams {
  const after = new URLSearchParams(before);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") after.delete(name);
    else after.set(name, value);
  }
  return after;
}

/** Returns the query of a request from filters, without those that are not set. */
export function queryOf(parameters: Record<string, string>): string {
  const text = withChanges(new URLSearchParams(), parameters).toString();
  return text && `?${text}`;
}
