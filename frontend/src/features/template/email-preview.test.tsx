import { fireEvent, render, screen } from "@testing-library/react";
import { beforeEach, expect, test, vi } from "vitest";
import { readBuiltInCatalogue } from "../../shared/templates/built-in.ts";
import { findTemplate } from "../../shared/templates/catalogue.ts";
import { builtInPreviews } from "../../shared/templates/use-preview.ts";
import { EmailPreview } from "./email-preview.tsx";

// The test environment loads no pictures and calls each of them complete, as a broken one.
beforeEach(() => {
  vi.spyOn(HTMLImageElement.prototype, "complete", "get").mockReturnValue(false);
  return () => vi.restoreAllMocks();
});

function open(product = 3) {
  const template = findTemplate(readBuiltInCatalogue(), String(product));
  const preview = builtInPreviews[product];
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
    ["Windows", "windows"],
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
    ["ArrowLeft", "Letter 3"],
    ["ArrowRight", "Desktop"],
    ["ArrowRight", "Phone"],
    ["End", "Letter 3"],
    ["Home", "Desktop"],
  ] as const) {
    fireEvent.keyDown(document.activeElement ?? document.body, { key });
    expect(document.activeElement).toBe(tab(name));
    expect(tab(name).tabIndex).toBe(0);
  }
  expect(screen.getAllByRole("tab").filter(({ tabIndex }) => tabIndex === 0)).toHaveLength(1);
});

test.each([
  [3, ["Letter 2", "Letter 3"]],
  [6, ["Layout 2"]],
  [8, ["Layout 2", "Layout 3"]],
  [9, []],
])("each letter or layout of template %i has a tab", (product, names) => {
  const { preview, tab, shown } = open(product);
  expect(preview.further.map(({ name }) => name)).toEqual(names);
  expect(screen.getAllByRole("tab")).toHaveLength(6 + names.length);
  for (const { name, alt, picture } of preview.further) {
    fireEvent.click(tab(name));
    expect(screen.getByRole("img", { name: alt })).toBeTruthy();
    expect(screen.getByRole("tabpanel", { name })).toBeTruthy();
    expect(shown()).toBe(String(picture.width));
  }
});

test("the plain text of all mails of a product is one page in a frame, with no other form to choose", () => {
  const { tab } = open(3);
  fireEvent.click(tab("Plain text"));
  const frame = screen.getByTitle("The text of the same email for programs that show no HTML.");
  expect(frame.getAttribute("src")).toBe("/mails/3-text.html");
  expect(frame.getAttribute("sandbox")).toBe("");
  expect(screen.getByRole("tabpanel", { name: "Plain text" })).toBeTruthy();
  expect(screen.queryByRole("button")).toBeNull();
  expect(screen.queryByText("See the whole email")).toBeNull();
});

test("the live mail of a further layout is reached by its tab", () => {
  const { tab } = open(8);
  fireEvent.click(tab("Layout 3"));
  fireEvent.click(screen.getByRole("button", { name: "Open the live email" }));
  expect(screen.getByTitle(/^Third layout/).getAttribute("src")).toBe("/mails/8-3.html");
});

test("the live mail is a frame without scripts and origin, of the letter that is chosen", () => {
  const { preview, tab } = open();
  fireEvent.click(screen.getByRole("button", { name: "Open the live email" }));
  const frame = () => screen.getByTitle(/./) as HTMLIFrameElement;
  expect(screen.queryByRole("img")).toBeNull();
  expect(frame().getAttribute("sandbox")).toBe("");
  expect([frame().getAttribute("src"), frame().title]).toEqual(["/mails/3-1.html", preview.alt]);
  fireEvent.click(tab("Letter 3"));
  expect(frame().getAttribute("src")).toBe("/mails/3-3.html");
  fireEvent.click(screen.getByRole("button", { name: "Show the pictures" }));
  expect(screen.getByRole("img")).toBeTruthy();
});
