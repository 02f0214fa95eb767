import { expect, test } from "vitest";
import { catalogueData, templateData } from "./structured-data.ts";
import { findTemplate } from "./templates.ts";

const ORIGIN = "https://shop.example";
const report = findTemplate("9");
const newsletter = findTemplate("1");
if (!report || !newsletter) throw new Error("template 1 or 9 is missing");

test("the price of a template is a number in dollars", () => {
  expect(templateData(newsletter, "/assets/1.webp", ORIGIN)).toMatchObject({
    "@type": "Product",
    image: "https://shop.example/assets/1.webp",
    offers: { price: "28", priceCurrency: "USD", url: "https://shop.example/template/1" },
  });
});

test("a custom design is not in stock", () => {
  expect(templateData(report, "/a.webp", ORIGIN)).toMatchObject({
    offers: { availability: "https://schema.org/PreOrder" },
  });
});

test("the catalogue lists all twelve and has no ratings", () => {
  const data = JSON.stringify(catalogueData(ORIGIN));
  expect(data.match(/"@type":"Product"/g)).toHaveLength(12);
  expect(data).not.toMatch(/aggregateRating|reviewRating|"review|4\.9/i);
});
