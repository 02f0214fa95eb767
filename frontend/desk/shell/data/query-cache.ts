import type { Result } from "../../../src/shared/result.ts";
import type { Failure } from "./failure.ts";

/** What is known about the answer to one request. Entries are replaced, never changed. */
export interface Entry<Value> {
  value?: Value;
  failure?: Failure;
  isLoading: boolean;
  /** Whether the value is to be loaded again while it is still shown. */
  isStale: boolean;
  loadedAt: number;
}

type Load<Value> = () => Promise<Result<Value, Failure>>;

const UNKNOWN: Entry<never> = { isLoading: false, isStale: true, loadedAt: 0 };

const entries = new Map<string, Entry<unknown>>();
const listeners = new Set<() => void>();

/** Counts how often everything was forgotten: answers from before are ignored. */
let generation = 0;

/** Calls the function after every change; returns a function that ends this. */
export function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Returns the entry of a key. */
export function entryOf<Value>(key: string): Entry<Value> {
  return (entries.get(key) as Entry<Value> | undefined) ?? UNKNOWN;
}

/** Loads the value of a key, if it is not being loaded. The last value stays until then. */
export async function loadEntry<Value>(key: string, load: Load<Value>): Promise<void> {
  const before = entryOf<Value>(key);
  if (before.isLoading) return;
  const started = generation;
  put(key, { ...before, isLoading: true, isStale: false });
  const loaded = await load();
  if (started !== generation) return;
  const { isStale, value } = entryOf<Value>(key);
  const now = { isLoading: false, isStale, loadedAt: Date.now() };
  if (loaded.ok) put(key, { ...now, value: loaded.value });
  else put(key, { ...now, ...(value !== undefined && { value }), failure: loaded.error });
}

/** Marks what was loaded under these keys as stale, so that what is shown is loaded again. */
export function invalidate(prefix: string, olderThan = 0): void {
  const limit = Date.now() - olderThan;
  for (const [key, entry] of entries) {
    if (!key.startsWith(prefix) || entry.loadedAt > limit) continue;
    // What is being loaded is recent, unless something has changed since.
    if (!entry.isLoading || olderThan === 0) put(key, { ...entry, isStale: true });
  }
}

/** Changes the values of keys with this prefix, without loading them. */
export function patchEntries<Value>(prefix: string, change: (value: Value) => Value): void {
  for (const [key, entry] of entries) {
    if (key.startsWith(prefix) && entry.value !== undefined) {
      put(key, { ...entry, value: change(entry.value as Value) });
    }
  }
}

/** Removes the entry of a key, such as that of something deleted. */
export function removeEntry(key: string): void {
  entries.delete(key);
}

/** Forgets all values: at the end of a session. */
export function forgetEntries(): void {
  generation += 1;
  entries.clear();
  for (const listener of listeners) listener();
}

function put(key: string, entry: Entry<unknown>): void {
  entries.set(key, entry);
  for (const listener of listeners) listener();
}
