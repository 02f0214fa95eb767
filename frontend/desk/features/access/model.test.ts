import { expect, test } from "vitest";
import { codeOf, recoveryCodeOf } from "./model.ts";

test.each([
  ["123456", "123456"],
  [" 123 456 ", "123456"],
  ["123-456", "123456"],
  ["12345", undefined],
  ["1234567", undefined],
  ["12345a", undefined],
])("the entry %j is the code %j", (entered, code) => {
  expect(codeOf(entered)).toBe(code);
});

test("a recovery code may be entered with spaces and in capitals", () => {
  expect(recoveryCodeOf(" ABCD efgh-ijkl-mn27 ")).toBe("abcdefghijklmn27");
  expect(recoveryCodeOf("abcd-efgh-ijkl-mn28")).toBeUndefined();
  expect(recoveryCodeOf("abcd")).toBeUndefined();
});
