import { expect, test } from "vitest";
import { decode, encode, passkeyFailure } from "./webauthn.ts";

test("bytes survive base64url in both directions", () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
  for (const length of [0, 1, 2, 3, 255, 256]) {
    const part = bytes.slice(0, length);
    const text = encode(part);
    expect(text).toMatch(/^[\w-]*$/);
    expect([...decode(text)]).toEqual([...part]);
  }
});

test.each([
  ["NotAllowedError", /cancelled/],
  ["InvalidStateError", /another device/],
  ["SecurityError", /address of the shop/],
])("the error %s of the browser says what to do", (name, advice) => {
  const cause = Object.assign(new Error("no"), { name });
  expect(passkeyFailure(cause).hint).toMatch(advice);
});
