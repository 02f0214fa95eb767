import { afterEach, expect, test, vi } from "vitest";
import type { Failure } from "./failure.ts";
import {
  entryOf,
  forgetEntries,
  invalidate,
  loadEntry,
  patchEntries,
  subscribe,
} from "./query-cache.ts";

const FAILURE: Failure = { kind: "offline", code: "no_answer", message: "No answer." };
const ok = async () => ({ ok: true as const, value: 1 });

afterEach(forgetEntries);

test("a loaded value is kept and announced", async () => {
  const listener = vi.fn();
  const stop = subscribe(listener);
  await loadEntry("a", ok);
  stop();
  expect(entryOf("a")).toMatchObject({ value: 1, isLoading: false, isStale: false });
  expect(listener).toHaveBeenCalledTimes(2);
});

test("a failure keeps the last value", async () => {
  await loadEntry("a", ok);
  await loadEntry("a", async () => ({ ok: false, error: FAILURE }));
  expect(entryOf("a")).toMatchObject({ value: 1, failure: FAILURE });
  await loadEntry("a", ok);
  expect(entryOf("a").failure).toBeUndefined();
});

test("a value is loaded once at a time", async () => {
  const load = vi.fn(ok);
  await Promise.all([loadEntry("a", load), loadEntry("a", load)]);
  expect(load).toHaveBeenCalledTimes(1);
});

test("a change while a value is loading makes it stale again", async () => {
  const loading = loadEntry("list?", ok);
  invalidate("list?");
  await loading;
  expect(entryOf("list?").isStale).toBe(true);
});

test("only old values become stale by age", async () => {
  await loadEntry("a", ok);
  invalidate("a", 60_000);
  expect(entryOf("a").isStale).toBe(false);
  invalidate("a");
  expect(entryOf("a").isStale).toBe(true);
});

test("values of a prefix can be changed in place", async () => {
  await loadEntry("list?1", ok);
  await loadEntry("other", ok);
  patchEntries<number>("list?", (value) => value + 1);
  expect([entryOf("list?1").value, entryOf("other").value]).toEqual([2, 1]);
});

test("an answer to a request of an ended session is ignored", async () => {
  const loading = loadEntry("a", ok);
  forgetEntries();
  await loading;
  expect(entryOf("a").value).toBeUndefined();
});
