import { expect, test } from "vitest";
import { labelledPositions, ticksOf } from "./scale.ts";

test.each([
  [0, [0, 1]],
  [1, [0, 1]],
  [3, [0, 1, 2, 3]],
  [7, [0, 2, 4, 6, 8]],
  [103, [0, 50, 100, 150]],
  [1999, [0, 500, 1000, 1500, 2000]],
])("the axis of values up to %i is %j", (maximum, ticks) => {
  expect(ticksOf(maximum)).toEqual(ticks);
});

test("the axis reaches every maximum in few steps", () => {
  for (let maximum = 1; maximum < 5_000; maximum += 7) {
    const ticks = ticksOf(maximum);
    expect(ticks.at(-1)).toBeGreaterThanOrEqual(maximum);
    expect(ticks.length).toBeLessThanOrEqual(6);
  }
});

test("labels have equal distances and do not exceed the wanted number", () => {
  expect(labelledPositions(30, 8)).toEqual([0, 4, 8, 12, 16, 20, 24, 28]);
  expect(labelledPositions(3, 0.5)).toEqual([0]);
  expect(labelledPositions(0, 4)).toEqual([]);
});
