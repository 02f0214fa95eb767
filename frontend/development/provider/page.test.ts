import { getByLabelText, getByRole } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";
import { renderPage } from "./page.ts";
import { describeAddress, PRESET_USERS } from "./users.ts";

let page: Document;

beforeEach(() => {
  page = parse(renderPage(PRESET_USERS));
});

/** Parses a page without loading its style sheet. */
function parse(html: string): Document {
  return new DOMParser().parseFromString(html.replace(/<link[^>]*>/g, ""), "text/html");
}

function forms(): HTMLFormElement[] {
  return [...page.querySelectorAll("form")];
}

test("both forms are posted to the URL of the authorization request", () => {
  expect(forms()).toHaveLength(2);
  for (const form of forms()) {
    expect(form.getAttribute("method")).toBe("post");
    expect(form.getAttribute("action")).toBe("{{action}}");
    expect(form.querySelectorAll('input[type="hidden"]')).toHaveLength(0);
  }
});

test("every preset user is a choice, and the last one denies", () => {
  const choices = [...page.querySelectorAll(".choices button")];
  expect(choices.map((button) => [button.getAttribute("value"), button.textContent])).toEqual([
    ["ann", "Ann Exampleann@example.com, verified"],
    ["ben", "Ben Unverifiedben@example.com, not verified"],
    ["cleo", "Cleo Without Addresshas no address"],
    ["nobody", "Nobody: deny the request"],
  ]);
  expect(choices.every((button) => button.getAttribute("name") === "person")).toBe(true);
});

test("another user is entered in labelled fields, filled from the request", () => {
  const form = forms()[1];
  if (!form) throw new Error("no second form");
  expect(getByLabelText(form, "Address").getAttribute("value")).toBe("{{email}}");
  expect(getByLabelText(form, "Name").getAttribute("value")).toBe("{{name}}");
  expect(getByLabelText(form, "The address is verified").getAttribute("value")).toBe("yes");
  expect(getByRole(form, "button", { name: "Continue" }).getAttribute("value")).toBe("other");
});

test("the names of users cannot add markup or placeholders", () => {
  const name = '"><script>{{action}}</script>&amp;';
  const html = renderPage([{ id: "x", name, email: "", verified: false }]);
  const parsed = parse(html);
  expect(parsed.querySelector(".choices strong")?.textContent).toBe(name);
  expect(parsed.querySelector("script")).toBeNull();
  expect(html.match(/\{\{action\}\}/g)).toHaveLength(2);
});

test("the policy of the page holds: no script, inline style or event handler", () => {
  expect(page.querySelectorAll("script, style, [style]")).toHaveLength(0);
  expect(renderPage(PRESET_USERS)).not.toMatch(/\son[a-z]+=/i);
});

test("there is one preset user of each kind", () => {
  expect(PRESET_USERS.map(describeAddress)).toEqual([
    "ann@example.com, verified",
    "ben@example.com, not verified",
    "has no address",
  ]);
  expect(new Set(PRESET_USERS.map(({ id }) => id)).size).toBe(PRESET_USERS.length);
});
