import { fireEvent, render, screen } from "@testing-library/react";
import { createMemoryRouter, RouterProvider } from "react-router-dom";
import { afterEach, expect, test, vi } from "vitest";
import { RETURNING } from "../../shared/catalogue-place.ts";
import { paths, routes } from "../../shared/paths.ts";
import { readBuiltInCatalogue } from "../../shared/templates/built-in.ts";
import { CatalogueContext } from "../../shared/templates/use-catalogue.ts";
import { CataloguePage } from "./page.tsx";

function open(path: string, state?: object) {
  const router = createMemoryRouter([{ path: routes.catalogue, element: <CataloguePage /> }], {
    initialEntries: [{ pathname: "/", search: path.slice(1), state }],
  });
  render(
    <CatalogueContext value={readBuiltInCatalogue()}>
      <RouterProvider router={router} />
    </CatalogueContext>,
  );
  return router;
}

function titles(): string[] {
  return screen.getAllByRole("heading", { level: 2 }).map((title) => title.textContent ?? "");
}

afterEach(() => vi.restoreAllMocks());

function card() {
  return screen.getAllByRole("listitem").find((item) => item.querySelector("h2"));
}

test("a card has one heading and one link", () => {
  open(`${paths.catalogue}?category=Seasonal`);
  expect(titles()).toEqual(["Holiday Greetings"]);
  const links = screen.getAllByRole("link").filter((link) => link.textContent === "View Template");
  expect(links.map((link) => link.getAttribute("href"))).toEqual([paths.template(8)]);
});

test("the footer leads buyers to their downloads, which are a page of the server", () => {
  open(paths.catalogue);
  const link = screen.getByRole("link", { name: "Your downloads" });
  expect(link.getAttribute("href")).toBe("/orders");
});

test("choosing a category writes it into the URL, 'All' removes it", async () => {
  const router = open(paths.catalogue);
  fireEvent.click(screen.getByRole("button", { name: "Events" }));
  await expect.poll(() => router.state.location.search).toBe("?category=Events");
  expect(titles()).toEqual(["Event Invitation"]);
  fireEvent.click(screen.getByRole("button", { name: "All" }));
  await expect.poll(() => router.state.location.search).toBe("");
  expect(titles()).toHaveLength(12);
});

test("cards appear one after another on opening; after a use of the filter only new ones appear", async () => {
  open(paths.catalogue);
  expect(card()?.className).toContain("hang-in-turn");
  fireEvent.click(screen.getByRole("button", { name: "Corporate" }));
  await expect.poll(() => titles().length).toBe(5);
  expect(card()?.className).not.toMatch(/animate-/);
  fireEvent.click(screen.getByRole("button", { name: "All" }));
  await expect.poll(() => titles().length).toBe(12);
  expect(card()?.className).toContain("animate-appear");
  expect(card()?.className).not.toContain("hang-in-turn");
});

test("cards are there at once after a link back", () => {
  open(paths.catalogue, RETURNING);
  expect(card()?.className).not.toMatch(/animate-/);
});

test("a picture that cannot be loaded is replaced by a drawing with its text", () => {
  vi.spyOn(HTMLImageElement.prototype, "complete", "get").mockReturnValue(false);
  open(`${paths.catalogue}?category=Seasonal`);
  const label = screen.getByRole("img").getAttribute("alt");
  fireEvent.error(screen.getByRole("img"));
  expect(screen.getByRole("img").tagName).toBe("DIV");
  expect(screen.getByRole("img").getAttribute("aria-label")).toBe(label);
});
