import { matchPath } from "react-router-dom";
import { expect, test } from "vitest";
import { isTemplatePath, paths, routes } from "./paths.ts";

test("the path of a template matches the pattern of its screen", () => {
  expect(paths.template(12)).toBe("/template/12");
  expect(matchPath(routes.template, paths.template(12))?.params).toEqual({ id: "12" });
  expect(isTemplatePath(paths.template(12))).toBe(true);
});

test("no other screen matches the path of a template", () => {
  expect(matchPath(routes.catalogue, paths.template(1))).toBeNull();
  expect(matchPath(routes.submission, paths.template(1))).toBeNull();
  expect([paths.catalogue, paths.submission, paths.mail(1, 1)].some(isTemplatePath)).toBe(false);
});
