import { useCallback, useEffect, useState, useSyncExternalStore } from "react";
import type { Result } from "../../../src/shared/result.ts";
import type { Failure } from "./failure.ts";
import { entryOf, invalidate, loadEntry, subscribe } from "./query-cache.ts";

/** Milliseconds after which a value is loaded again when it is shown again. */
const SHELF_LIFE = 15_000;

/** The state of a request for data. */
export interface Query<Value> {
  /** The value; that of the previous key until the one of a new key is loaded. */
  value: Value | undefined;
  failure: Failure | undefined;
  isLoading: boolean;
  /** Whether the value belongs to the previous key. */
  isOutdated: boolean;
  reload: () => void;
}

/**
 * Loads data and keeps it for the session. The key names the request: hooks with one key share one
 * value. A server that names a time for the next attempt gets it then.
 */
export function useQuery<Value>(
  key: string,
  load: () => Promise<Result<Value, Failure>>,
): Query<Value> {
  const entry = useSyncExternalStore(subscribe, () => entryOf<Value>(key));
  const { value, failure, isLoading, isStale } = entry;
  const [shown, setShown] = useState(value);
  if (value !== undefined && value !== shown) setShown(value);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for the request
  useEffect(() => {
    if (isStale && !isLoading) void loadEntry(key, load);
  }, [key, isStale, isLoading]);
  useEffect(() => invalidate(key, SHELF_LIFE), [key]);

  const reload = useCallback(() => invalidate(key), [key]);
  const retryAt = failure?.retryAt;
  useEffect(() => {
    if (retryAt === undefined) return;
    const timer = setTimeout(reload, Math.max(0, retryAt - Date.now()));
    return () => clearTimeout(timer);
  }, [retryAt, reload]);

  const isOutdated = value === undefined && shown !== undefined;
  return { value: value ?? shown, failure, isLoading: isLoading || isStale, isOutdated, reload };
}

/** Loads what is shown again when the page is seen again after a while. */
export function useReloadOnReturn(): void {
  useEffect(() => {
    function onVisible(): void {
      if (document.visibilityState === "visible") invalidate("", SHELF_LIFE);
    }
    document.addEventListener("visibilitychange", onVisible);
    return () => document.removeEventListener("visibilitychange", onVisible);
  }, []);
}
