import { fireEvent, render, screen } from "@testing-library/react";
import { beforeEach, expect, test, vi } from "vitest";
import { previews } from "../../previews/index.ts";
import { readBuiltInCatalogue } from "../../shared/templates/built-in.ts";
import { findTemplate } from "../../shared/templates/catalogue.ts";
import { EmailPreview } from "./email-preview.tsx";

// The test environment loads no pictures and calls each of them complete, as a broken one.
beforeEach(() => {
  vi.spyOn(HTMLImageElement.prototype, "complete", "get").mockReturnValue(false);
  return () => vi.restoreAllMocks();
});

function open() {
  const template = findTemplate(readBuiltInCatalogue(), "3");
  const preview = previews[3];
  if (!preview || !template) throw new Error("there is no preview");
  render(<EmailPreview template={template} />);
  const tab = (name: string) => screen.getByRole("tab", { name });
  const shown = () => screen.getByRole("img").getAttribute("width");
  return { template, preview, tab, shown };
}

test("shows one view of what buyers get at a time", () => {
  const { template, preview, tab, shown } = open();
  expect(screen.getByRole("tablist").getAttribute("aria-label")).toBe(template.title);
  expect(screen.getByRole("img", { name: preview.alt })).toBeTruthy();
  for (const [name, view] of [
    ["Phone", "phone"],
    ["Dark", "dark"],
    ["Images off", "unloaded"],
    ["Desktop", "detail"],
  ] as const) {
    fireEvent.click(tab(name));
    expect(shown()).toBe(String(preview[view].width));
    expect(tab(name).getAttribute("aria-selected")).toBe("true");
    expect(screen.getByRole("tabpanel", { name })).toBeTruthy();
    expect(screen.getAllByRole("tab", { selected: true })).toHaveLength(1);
  }
});

test("arrow keys, Home and End choose tabs and move the focus", () => {
  const { tab } = open();
  tab("Desktop").focus();
  for (const [key, name] of [
    ["ArrowLeft", "Images off"],
    ["ArrowRight", "Desktop"],
    ["ArrowRight", "Phone"],
    ["End", "Images off"],
    ["Home", "Desktop"],
  ] as const) {
    fireEvent.keyDown(document.activeElement ?? document.body, { key });
    expect(document.activeElement).toBe(tab(name));
    expect(tab(name).tabIndex).toBe(0);
  }
  expect(screen.getAllByRole("tab").filter((it) => it.tabIndex === 0)).toHaveLength(1);
});
