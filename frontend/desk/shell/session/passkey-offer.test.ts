import { expect, test } from "vitest";
import { readOffer } from "./passkey-offer.ts";

const LOCAL = {
  passkeys: true,
  passkey_origins: ["http://localhost:54321"],
  passkey_url: "http://localhost:54321/_desk/",
};

test("passkeys are offered only at an address where they work", () => {
  expect(readOffer(LOCAL, "http://localhost:54321", true)).toEqual({ state: "possible" });
  expect(readOffer(LOCAL, "http://127.0.0.1:54321", true)).toEqual({
    state: "elsewhere",
    url: "http://localhost:54321/_desk/",
  });
  expect(readOffer(LOCAL, "http://localhost:54321", false)).toEqual({ state: "unsupported" });
  expect(readOffer({ ...LOCAL, passkeys: false }, "http://localhost:54321", true)).toEqual({
    state: "none",
  });
  expect(
    readOffer({ passkeys: true, passkey_origins: [], passkey_url: null }, "http://192.0.2.1", true),
  ).toEqual({ state: "none" });
});
