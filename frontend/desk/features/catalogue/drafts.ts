import type { Value, Values } from "./api.ts";
import { type Entry, isSame, KEYS, type Key, toEntry, toValue } from "./model.ts";

/** What the owner has typed: for each field its content, and the value that it had before. */
export type Draft = Partial<Record<Key, { entry: Entry; before: Value }>>;

const drafts = new Map<number, Draft>();

/** Returns what was typed for a template on this page and is not saved. */
export function draftOf(id: number): Draft {
  return drafts.get(id) ?? {};
}

/** Keeps a draft until the page is closed. */
export function keepDraft(id: number, draft: Draft): void {
  drafts.set(id, draft);
}

/** Tells whether a change would be lost with the page. */
export function hasDrafts(): boolean {
  return [...drafts.values()].some((draft) => KEYS.some((key) => isChanged(draft, key)));
}

/** Returns the draft with what was typed into a field. */
export function withEntry(draft: Draft, key: Key, entry: Entry, present: Values): Draft {
  const before = isChanged(draft, key) ? draft[key]?.before : undefined;
  return { ...draft, [key]: { entry, before: before ?? present[key] } };
}

/** Returns what a field shows: what was typed, unless it is no change and the value is another one now. */
export function shownEntry(draft: Draft, key: Key, present: Values): Entry {
  const typed = draft[key];
  const isShown = typed && (isChanged(draft, key) || isSame(typed.before, present[key]));
  return isShown ? typed.entry : toEntry(present[key]);
}

/** Returns the typed values that differ from the present ones. */
export function changesOf(draft: Draft, present: Values): Partial<Values> {
  const changed = KEYS.filter((key) => isChanged(draft, key)).map(
    (key) => [key, toValue(key, draft[key]?.entry ?? "")] as const,
  );
  return Object.fromEntries(changed.filter(([key, value]) => !isSame(value, present[key])));
}

/** Tells whether somebody else has changed a value that the owner changes, too, to another one. */
export function isDisputed(draft: Draft, key: Key, present: Values): boolean {
  const typed = draft[key];
  if (!typed || isSame(typed.before, present[key])) return false;
  return key in changesOf(draft, present);
}

function isChanged(draft: Draft, key: Key): boolean {
  const typed = draft[key];
  return typed !== undefined && !isSame(toValue(key, typed.entry), typed.before);
}
