import { expect, test } from "vitest";
import type { Values } from "./api.ts";
import { checkTogether, checkValue, formatSize, formatValue, toEntry, toValue } from "./model.ts";

test("a field holds the texts of a list in lines", () => {
  expect(toEntry(["a", "b"])).toBe("a\nb");
  expect(toValue("features", " a \n\nb\n")).toEqual(["a", "b"]);
  expect(toValue("description", " One\ntwo  three ")).toBe("One two three");
  expect(toValue("visible", false)).toBe(false);
});

test("values that the server refuses are named before", () => {
  for (const price of ["$28", "$28.50", "$0", "$1234567"]) {
    expect(checkValue("price", price), price).toBeUndefined();
  }
  for (const price of ["28", "$", "$07", "$1.5", "$12345678", "$1,000", "€28"]) {
    expect(checkValue("price", price), price).toBeTruthy();
  }
  expect(checkValue("title", "")).toBe("Fill this in.");
  expect(checkValue("title", "é".repeat(80))).toBeUndefined();
  expect(checkValue("summary", "x".repeat(61))).toMatch(/60 characters: it has 61/);
  expect(checkValue("link", "")).toBeUndefined();
  expect(checkValue("link", "https://buy.stripe.com/a")).toBeUndefined();
  for (const link of ["http://pay.example", "javascript:alert(1)", "pay.example", "https://"]) {
    expect(checkValue("link", link), link).toBeTruthy();
  }
  expect(checkValue("features", ["a", "b", "c", "d", "e"])).toBeUndefined();
  expect(checkValue("features", ["a", "b", "c", "d", "d"])).toBeTruthy();
  expect(checkValue("features", ["a"])).toBeTruthy();
  expect(checkValue("payment_reference", [])).toBeUndefined();
});

test("values are formatted for a sentence", () => {
  expect(formatValue("visible", false)).toBe("hidden");
  expect(formatValue("link", "")).toBe("nothing");
  expect(formatValue("features", ["a", "b"])).toBe("“a; b”");
});

test("a picture needs its description, and uploaded files have names", () => {
  const values = { picture: "1", picture_alt: "" } as Values;
  expect(checkTogether(values).picture_alt).toMatch(/what the picture shows/);
  expect(checkTogether({ ...values, picture_alt: "A letter" })).toEqual({});
  expect(checkTogether({ ...values, picture: "" })).toEqual({});
  expect(checkValue("picture_alt", "x".repeat(161))).toMatch(/160 characters: it has 161/);
  const files = [{ file: "1", name: "letters.zip", size: 10 }];
  expect(formatValue("product_file", "1", files)).toBe("“letters.zip”");
  expect(formatValue("product_file", "", files)).toBe("that of the products folder");
  expect(formatValue("picture", "1")).toBe("an uploaded one");
  expect([formatSize(10), formatSize(110_400), formatSize(2_340_000)]).toEqual([
    "1 kB",
    "110 kB",
    "2.3 MB",
  ]);
});
