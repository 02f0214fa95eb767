import { expect, test } from "vitest";
import { describePasswordRule } from "./password-rule.ts";

const ADVICE = "A long sentence is easy to remember and hard to guess.";

test("the whole rule of a password is told", () => {
  expect(describePasswordRule({})).toBe(ADVICE);
  expect(describePasswordRule({ minLength: 8 })).toBe(`At least 8 characters. ${ADVICE}`);
  expect(describePasswordRule({ minLength: 8, kinds: [{ kind: "digit" }] })).toBe(
    `At least 8 characters. Among them a digit. ${ADVICE}`,
  );
  const kinds = [
    { kind: "small_letter" },
    { kind: "symbol" },
    { kind: "other", characters: "äöü" },
  ];
  expect(describePasswordRule({ minLength: 10, kinds, isLookedUp: true })).toBe(
    "At least 10 characters. Among them a small letter, a symbol such as ! ? # % and one of äöü. " +
      `It must not be in a list of stolen passwords. ${ADVICE}`,
  );
});
