import { describe, expect, test } from "vitest";
import { CATEGORIES, findTemplate, TEMPLATES } from "./templates.ts";

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

describe("the templates", () => {
  test("are the specified ones", () => {
    const range = TEMPLATES.map(({ id, title, category, price, paymentLink }) => [
      id,
      title,
      category,
      price,
      paymentLink !== undefined,
    ]);
    expect(range).toEqual(RANGE);
  });

  test("fill every category", () => {
    const used = TEMPLATES.map(({ category }) => category);
    expect(new Set(used)).toEqual(new Set(CATEGORIES));
  });

  test.each(TEMPLATES)("$title has a text and five features of its own", (template) => {
    const others = TEMPLATES.filter(({ id }) => id !== template.id);
    expect(template.description.length).toBeGreaterThan(80);
    expect(new Set(template.features).size).toBe(5);
    for (const feature of template.features) {
      expect(others.some(({ features }) => features.includes(feature))).toBe(false);
    }
  });

  test("have https payment links, each one its own", () => {
    const links = TEMPLATES.flatMap(({ paymentLink }) => paymentLink ?? []);
    expect(links.every((link) => new URL(link).protocol === "https:")).toBe(true);
    expect(new Set(links).size).toBe(links.length);
  });
});

describe("the id of a template", () => {
  test.each(["1", "12"])("'%s' names one", (id) => {
    expect(findTemplate(id)?.id).toBe(Number(id));
  });

  test.each(["0", "13", "01", "1.0", "+1", "1e0", "abc", "", undefined])(
    "'%s' names none",
    (id) => {
      expect(findTemplate(id)).toBeUndefined();
    },
  );
});
