import { fireEvent, render, screen } from "@testing-library/react";
import { createMemoryRouter, RouterProvider } from "react-router-dom";
import { expect, test } from "vitest";
import { paths, routes } from "../../shared/paths.ts";
import { CataloguePage } from "./page.tsx";

function open(path: string) {
  const router = createMemoryRouter([{ path: routes.catalogue, element: <CataloguePage /> }], {
    initialEntries: [path],
  });
  render(<RouterProvider router={router} />);
  return router;
}

function titles(): string[] {
  return screen.getAllByRole("heading", { level: 2 }).map((title) => title.textContent ?? "");
}

test("a card has one heading and one link", () => {
  open(`${paths.catalogue}?category=Seasonal`);
  expect(titles()).toEqual(["Holiday Greetings"]);
  const links = screen.getAllByRole("link").filter((link) => link.textContent === "View Template");
  expect(links.map((link) => link.getAttribute("href"))).toEqual([paths.template(8)]);
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

test("cards appear one after another on opening, and at once after a use of the filter", async () => {
  open(paths.catalogue);
  const card = () => screen.getAllByRole("listitem").find((item) => item.querySelector("h2"));
  expect(card()?.className).toContain("hang-in-turn");
  fireEvent.click(screen.getByRole("button", { name: "Corporate" }));
  await expect.poll(() => card()?.className).toContain("animate-appear");
  fireEvent.click(screen.getByRole("button", { name: "All" }));
  await expect.poll(() => titles().length).toBe(12);
  expect(card()?.className).not.toContain("hang-in-turn");
});
