import { describe, expect, test } from "vitest";
import { readBuiltInCatalogue } from "../../shared/templates/built-in.ts";
import { activeCategory, categorySearch, shownMessage, shownTemplates } from "./model.ts";

const CATALOGUE = readBuiltInCatalogue();

describe("the filter in the URL", () => {
  test.each([
    ["", undefined],
    ["category=Corporate", "Corporate"],
    ["category=E-commerce", "E-commerce"],
    ["category=corporate", undefined],
    ["category=Nonsense", undefined],
    ["category=", undefined],
  ])("'%s' shows %s", (search, category) => {
    expect(activeCategory(CATALOGUE, new URLSearchParams(search))).toBe(category);
  });

  test("is left out for all", () => {
    expect(categorySearch(undefined)).toEqual({});
    expect(categorySearch("Events")).toEqual({ category: "Events" });
  });
});

describe("the catalogue", () => {
  test("shows everything without a filter", () => {
    expect(shownTemplates(CATALOGUE, undefined)).toHaveLength(12);
    expect(shownMessage(CATALOGUE, undefined)).toBe("Showing all 12 templates");
  });

  test("shows one category, in the order of the templates", () => {
    expect(shownTemplates(CATALOGUE, "Corporate").map(({ id }) => id)).toEqual([4, 9, 10, 11, 12]);
    expect(shownMessage(CATALOGUE, "Corporate")).toBe("Showing 5 of 12 templates: Corporate");
  });
});
