import { render, screen } from "@testing-library/react";
import { createMemoryRouter, RouterProvider } from "react-router-dom";
import { expect, test } from "vitest";
import { paths, routes } from "../../shared/paths.ts";
import { TEMPLATES } from "../../shared/templates/templates.ts";
import { TemplatePage } from "./page.tsx";

function open(path: string): void {
  const router = createMemoryRouter([{ path: routes.template, element: <TemplatePage /> }], {
    initialEntries: [path],
  });
  render(<RouterProvider router={router} />);
}

test.each(TEMPLATES)("$title has a purchase link or a link to the submission form", (template) => {
  open(paths.template(template.id));
  const purchaseLink = screen.queryByRole("link", {
    name: `Purchase Template - ${template.price}`,
  });
  const requestLink = screen.queryByRole("link", {
    name: `Request Custom Design - ${template.price}`,
  });
  expect(purchaseLink?.getAttribute("href")).toBe(template.paymentLink);
  expect(requestLink === null).toBe(template.paymentLink !== undefined);
  expect(document.title).toBe(
    `${template.title} - Professional Email Templates | Custom Email Designs That Convert`,
  );
});

test("an unknown id links back to the templates", () => {
  open(paths.template(13));
  expect(screen.getByRole("heading").textContent).toBe("Template Not Found");
  expect(screen.getByRole("link", { name: "Back to Templates" }).getAttribute("href")).toBe(
    paths.catalogue,
  );
});
