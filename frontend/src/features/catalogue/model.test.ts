import { describe, expect, test } from "vitest";
import { activeCategory, categorySearch, shownMessage, shownTemplates } from "./model.ts";

describe("the filter in the URL", () => {
  test.each([
    ["", undefined],
    ["category=Corporate", "Corporate"],
    ["category=E-commerce", "E-commerce"],
    ["category=corporate", undefined],
    ["category=Nonsense", undefined],
    ["category=", undefined],
  ])("'%s' shows %s", (search, category) => {
    expect(activeCategory(new URLSearchParams(search))).toBe(category);
  });

  test("is left out for all", () => {
    expect(categorySearch(undefined)).toEqual({});
    expect(categorySearch("Events")).toEqual({ category: "Events" });
  });
});

describe("the catalogue", () => {
  test("shows everything without a filter", () => {
    expect(shownTemplates(undefined)).toHaveLength(12);
    expect(shownMessage(undefined)).toBe("Showing all 12 templates");
  });

  test("shows one category, in the order of the templates", () => {
    expect(shownTemplates("Corporate").map(({ id }) => id)).toEqual([4, 9, 10, 11, 12]);
    expect(shownMessage("Corporate")).toBe("Showing 5 of 12 templates: Corporate");
  });
});
