import { render, screen } from "@testing-library/react";
import { createMemoryRouter, RouterProvider } from "react-router-dom";
import { expect, test } from "vitest";
import { paths, routes } from "../../shared/paths.ts";
import { readBuiltInCatalogue } from "../../shared/templates/built-in.ts";
import type { Catalogue } from "../../shared/templates/catalogue.ts";
import { CatalogueContext } from "../../shared/templates/use-catalogue.ts";
import { TemplatePage } from "./page.tsx";

const CATALOGUE = readBuiltInCatalogue();

function open(path: string, catalogue: Catalogue = CATALOGUE): void {
  const router = createMemoryRouter([{ path: routes.template, element: <TemplatePage /> }], {
    initialEntries: [path],
  });
  render(
    <CatalogueContext value={catalogue}>
      <RouterProvider router={router} />
    </CatalogueContext>,
  );
}

test.each(CATALOGUE.templates)("$title has a purchase link or a link to the form", (template) => {
  open(paths.template(template.id));
  const purchaseLink = screen.queryByRole("link", {
    name: `Purchase Template - ${template.price}`,
  });
  const requestLink = screen.queryByRole("link", {
    name: `Request Custom Design - ${template.price}`,
  });
  expect(purchaseLink?.getAttribute("href")).toBe(template.link);
  expect(requestLink?.getAttribute("href")).toBe(
    template.link === undefined ? `/submit?template=${template.id}` : undefined,
  );
  expect(document.title).toBe(
    `${template.title} - Professional Email Templates | Custom Email Designs That Convert`,
  );
});

test("a template without pictures has a drawing in their place", () => {
  const [first] = CATALOGUE.templates;
  if (!first) throw new Error("the catalogue is empty");
  open(paths.template(13), { ...CATALOGUE, templates: [{ ...first, id: 13 }] });
  expect(screen.getByRole("img", { name: first.title }).tagName).toBe("DIV");
});

test("an unknown id links back to the templates", () => {
  open(paths.template(13));
  expect(screen.getByRole("heading").textContent).toBe("Template Not Found");
  expect(screen.getByRole("link", { name: "Back to Templates" }).getAttribute("href")).toBe(
    paths.catalogue,
  );
});
