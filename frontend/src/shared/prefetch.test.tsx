import { fireEvent, render, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { type LazyScreen, ScreenLoaders, usePrefetch } from "./prefetch.ts";

function TestLink({ to }: { to: LazyScreen }) {
  return (
    <a href="/" {...usePrefetch(to)}>
      Submit your details
    </a>
  );
}

test("a link loads its screen, and no other, when it is focused or pointed at", () => {
  const template = vi.fn(async () => undefined);
  const submission = vi.fn(async () => undefined);
  render(
    <ScreenLoaders value={{ template, submission }}>
      <TestLink to="submission" />
    </ScreenLoaders>,
  );
  expect(submission).not.toHaveBeenCalled();
  fireEvent.focus(screen.getByRole("link"));
  fireEvent.pointerEnter(screen.getByRole("link"));
  expect(submission).toHaveBeenCalledTimes(2);
  expect(template).not.toHaveBeenCalled();
});

test("a failed load is left to the visit", async () => {
  const template = vi.fn(() => Promise.reject(new Error("offline")));
  render(
    <ScreenLoaders value={{ template }}>
      <TestLink to="template" />
    </ScreenLoaders>,
  );
  fireEvent.touchStart(screen.getByRole("link"));
  await expect(template.mock.results[0]?.value).rejects.toThrow("offline");
});

test("a link outside of the app loads nothing", () => {
  render(<TestLink to="template" />);
  fireEvent.focus(screen.getByRole("link"));
  expect(screen.getByRole("link").textContent).toBe("Submit your details");
});
