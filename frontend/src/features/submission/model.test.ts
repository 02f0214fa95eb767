import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { checkDetails, shownCount, spokenCount } from "./model.ts";

type Text = string | { repeat: [string, number] };

/** A row of the table of cases, which also tests the server. */
interface Case {
  name: string;
  input: Text;
  ok: boolean;
  message?: string;
  stored?: Text;
}

const cases = JSON.parse(
  readFileSync("../functions-rs/tests/submission_cases.json", "utf8"),
) as Case[];

function spell(text: Text): string {
  return typeof text === "string" ? text : text.repeat[0].repeat(text.repeat[1]);
}

describe("details are checked as the server checks them", () => {
  test.each(cases)("$name", ({ input, ok, message, stored }) => {
    const checked = checkDetails(spell(input));
    expect(checked).toEqual(
      ok ? { ok: true, value: spell(stored ?? input) } : { ok: false, error: message },
    );
  });
});

describe("the count", () => {
  test.each([
    ["nothing written", 0, undefined],
    ["one below the mark", 899, undefined],
    ["at the mark", 900, 900],
    ["past the limit", 1001, 1001],
  ])("shows when it matters: %s", (_, length, shown) => {
    expect(shownCount("😀".repeat(length))).toBe(shown);
  });

  test.each([
    [undefined, ""],
    [900, "900 of 1000 characters used"],
    [949, "900 of 1000 characters used"],
    [950, "950 of 1000 characters used"],
    [1000, "1000 of 1000 characters used"],
    [1001, "1 character too many"],
    [1003, "3 characters too many"],
  ])("is spoken in steps: %s", (count, spoken) => {
    expect(spokenCount(count)).toBe(spoken);
  });
});
