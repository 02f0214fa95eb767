import { expect, test } from "vitest";
import type { Values } from "./api.ts";
import { changesOf, type Draft, isDisputed, shownEntry, withEntry } from "./drafts.ts";

const PRESENT: Values = {
  title: "Newsletter",
  category: "Newsletter",
  price: "$28",
  summary: "Short",
  description: "Long",
  features: ["a", "b", "c", "d", "e"],
  link: "",
  payment_reference: [],
  visible: true,
  picture: "",
  picture_alt: "",
  product_file: "",
};

test("only what differs is sent", () => {
  const spaces = withEntry({}, "title", " Newsletter ", PRESENT);
  expect(changesOf(spaces, PRESENT)).toEqual({});
  expect(shownEntry(spaces, "title", PRESENT)).toBe(" Newsletter ");
  const line = withEntry(spaces, "features", "a\nb\nc\nd\ne\n", PRESENT);
  expect(changesOf(line, PRESENT)).toEqual({});
  const hidden = withEntry(line, "visible", false, PRESENT);
  expect(changesOf(hidden, PRESENT)).toEqual({ visible: false });
});

test("what another owner stores is shown where nothing was typed", () => {
  const draft = withEntry({}, "title", "Mine", PRESENT);
  const theirs = { ...PRESENT, price: "$30" };
  expect(shownEntry(draft, "price", theirs)).toBe("$30");
  expect(shownEntry(draft, "title", theirs)).toBe("Mine");
  expect(isDisputed(draft, "title", theirs)).toBe(false);
  expect(changesOf(draft, theirs)).toEqual({ title: "Mine" });
});

test("a value that both change is disputed, and what was typed stays", () => {
  let draft: Draft = withEntry({}, "title", "Mine", PRESENT);
  const theirs = { ...PRESENT, title: "Theirs" };
  expect(isDisputed(draft, "title", theirs)).toBe(true);
  expect(shownEntry(draft, "title", theirs)).toBe("Mine");
  draft = withEntry(draft, "title", "Mine, too", theirs);
  expect(isDisputed(draft, "title", theirs)).toBe(true);
  expect(changesOf(draft, theirs)).toEqual({ title: "Mine, too" });
  expect(isDisputed(withEntry({}, "title", "Theirs", PRESENT), "title", theirs)).toBe(false);
});
