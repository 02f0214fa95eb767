import { describe, expect, test } from "vitest";
import { readBuiltInCatalogue } from "./built-in.ts";
import { findCategory, findTemplate, readCatalogue } from "./catalogue.ts";

const CATALOGUE = readBuiltInCatalogue();

/** The templates of the product specification. */
const RANGE = [
  [1, "Professional Newsletter", "Newsletter", "$28", true],
  [2, "Product Promotion", "Marketing", "$64", true],
  [3, "Welcome Series", "Onboarding", "$113", true],
  [4, "Company Announcement", "Corporate", "$700", true],
  [5, "Event Invitation", "Events", "$1000", true],
  [6, "Order Confirmation", "E-commerce", "$1250", true],
  [7, "Survey & Feedback", "Research", "$1600", true],
  [8, "Holiday Greetings", "Seasonal", "$2300", true],
  [9, "Executive Report", "Corporate", "$17", false],
  [10, "Quarterly Update", "Corporate", "$79", false],
  [11, "Policy Notification", "Corporate", "$465", false],
  [12, "Board Meeting Invitation", "Corporate", "$910", false],
];

describe("the built-in templates", () => {
  test("are the specified ones", () => {
    const range = CATALOGUE.templates.map(({ id, title, category, price, link }) => [
      id,
      title,
      category,
      price,
      link !== undefined,
    ]);
    expect(range).toEqual(RANGE);
  });

  test.each(CATALOGUE.templates)("$title has texts and five features of its own", (template) => {
    const others = CATALOGUE.templates.filter(({ id }) => id !== template.id);
    expect(template.summary.length).toBeLessThanOrEqual(60);
    expect(template.description.length).toBeGreaterThan(80);
    expect(new Set(template.features).size).toBe(5);
    for (const feature of template.features) {
      expect(others.some(({ features }) => features.includes(feature))).toBe(false);
    }
  });

  test("have https payment links, each one its own", () => {
    const links = CATALOGUE.templates.flatMap(({ link }) => link ?? []);
    expect(links.every((link) => new URL(link).protocol === "https:")).toBe(true);
    expect(new Set(links).size).toBe(links.length);
  });

  test("are in categories with a tagline and three benefits", () => {
    for (const { category } of CATALOGUE.templates) {
      expect(findCategory(CATALOGUE, category)?.benefits).toHaveLength(3);
    }
    expect(findCategory(CATALOGUE, "Research")?.tagline).toBe(
      findCategory(CATALOGUE, "Seasonal")?.tagline,
    );
  });
});

describe("the id of a template", () => {
  test.each(["1", "12"])("'%s' names one", (id) => {
    expect(findTemplate(CATALOGUE, id)?.id).toBe(Number(id));
  });

  test.each(["0", "13", "01", "1.0", "+1", "1e0", "abc", "", undefined, null])(
    "'%s' names none",
    (id) => {
      expect(findTemplate(CATALOGUE, id)).toBeUndefined();
    },
  );
});

describe("the catalogue of a page", () => {
  function page(content: string): Document {
    const html = `<script id="basalt-catalogue" type="application/json">${content}</script>`;
    return new DOMParser().parseFromString(html, "text/html");
  }

  test("is what the server wrote", () => {
    expect(readCatalogue(page(JSON.stringify(CATALOGUE)))).toEqual(CATALOGUE);
  });

  test.each(["", "{nonsense", "{}", '{"templates":[{}],"categories":[]}'])(
    "that cannot be read is an error, so that the page stays as it is: %s",
    (content) => {
      expect(() => readCatalogue(page(content))).toThrow();
    },
  );
});
