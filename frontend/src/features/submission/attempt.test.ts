import { beforeEach, describe, expect, test, vi } from "vitest";
import { attemptKey, endAttempt } from "./attempt.ts";

beforeEach(endAttempt);

describe("the key of an attempt", () => {
  test("stays the same for the same text", () => {
    expect(attemptKey("one")).toBe(attemptKey("one"));
  });

  test("is stored for a reload", () => {
    const key = attemptKey("one");
    expect(sessionStorage.getItem("submission.attempt")).toContain(key);
  });

  test("changes with the text", () => {
    expect(attemptKey("one")).not.toBe(attemptKey("two"));
  });

  test("is a new one when the same text is sent again on purpose", () => {
    const key = attemptKey("one");
    endAttempt();
    expect(attemptKey("one")).not.toBe(key);
  });

  test.each([
    "{nonsense",
    "null",
    "[]",
    '{"text":"one"}',
    '{"text":"one","key":""}',
    '{"text":1,"key":"k"}',
  ])("is a new one when the stored one cannot be read: %s", async (stored) => {
    sessionStorage.setItem("submission.attempt", stored);
    vi.resetModules();
    const reloaded = await import("./attempt.ts");
    expect(reloaded.attemptKey("one")).toMatch(/^[0-9a-f]{32}$/);
  });

  test("is the stored one after a reload", async () => {
    const key = attemptKey("one");
    vi.resetModules();
    const reloaded = await import("./attempt.ts");
    expect(reloaded.attemptKey("one")).toBe(key);
  });

  test("is 128 bits, written in hexadecimal", () => {
    expect(attemptKey("one")).toMatch(/^[0-9a-f]{32}$/);
  });
});
