import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { findOnlyAddress } from "./address.ts";

/** A row of the table of cases, which also tests the server. */
interface Case {
  text: string;
  address: string | null;
}

const cases = JSON.parse(
  readFileSync("../functions-rs/tests/address_cases.json", "utf8"),
) as Case[];

describe("the address of the confirmation is found as the server finds it", () => {
  test.each(cases)("$text", ({ text, address }) => {
    expect(findOnlyAddress(text)).toBe(address ?? undefined);
  });
});
