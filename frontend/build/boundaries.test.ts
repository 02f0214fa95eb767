import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

interface Diagnostic {
  category: string;
  location: { path: string };
}

const BIOME = join(import.meta.dirname, "../node_modules/.bin/biome");

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "boundaries-"));
  cpSync(join(import.meta.dirname, "../biome.json"), join(folder, "biome.json"));
});

afterEach(() => rmSync(folder, { recursive: true }));

/** Runs the linter with the configuration of the shop on these files; returns `path: rule` lines. */
function lint(files: Record<string, string>): string[] {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  const boundaryRules = ["--only=style/noRestrictedImports", "--only=suspicious/noImportCycles"];
  const options = ["--reporter=json", "--vcs-enabled=false", ...boundaryRules];
  const { diagnostics } = JSON.parse(runLinter(["lint", ...options, "."])) as {
    diagnostics: Diagnostic[];
  };
  return diagnostics
    .map(({ category, location }) => `${location.path}: ${category.split("/").at(-1)}`)
    .sort();
}

/** Returns the output, also of a run that ends with an error because it found something. */
function runLinter(parameters: string[]): string {
  try {
    return execFileSync(BIOME, parameters, { cwd: folder, encoding: "utf8", stdio: "pipe" });
  } catch (error) {
    return String((error as { stdout: string }).stdout);
  }
}

function importing(specifier: string): string {
  return `import { value } from "${specifier}";\nexport const copy = value;\n`;
}

test.each([
  ["another feature", "../b/page.ts"],
  ["the folder of another feature", "../b"],
  ["the app", "../../app/router.ts"],
  ["the entry point", "../../main.ts"],
  ["a build script", "../../../build/site-files.ts"],
  ["an absolute path", "/src/app/router.ts"],
  ["the app, by a detour", "../../shared/../app/router.ts"],
])("a feature cannot import %s", (_, specifier) => {
  const path = "src/features/a/page.ts";
  expect(lint({ [path]: importing(specifier) })).toEqual([`${path}: noRestrictedImports`]);
});

test("the boundary also holds for types, re-exports and dynamic imports", () => {
  expect(
    lint({
      "src/features/a/type.ts": 'import type { T } from "../b/page.ts";\nexport type U = T;\n',
      "src/features/a/again.ts": 'export * from "../b/page.ts";\n',
      "src/features/a/later.ts": 'export const later = () => import("../../app/router.ts");\n',
    }),
  ).toEqual([
    "src/features/a/again.ts: noRestrictedImports",
    "src/features/a/later.ts: noRestrictedImports",
    "src/features/a/type.ts: noRestrictedImports",
  ]);
});

test.each([
  ["shared code", "features", "src/shared/paths.ts", "../features/a/page.ts"],
  ["shared code", "the app", "src/shared/ui/badge.tsx", "../../app/router.ts"],
  ["a development page", "features", "development/a/page.ts", "../../src/features/a/page.ts"],
  ["a development page", "the app", "development/a/page.ts", "../../src/app/router.ts"],
])("%s cannot import %s", (_, __, path, specifier) => {
  expect(lint({ [path]: importing(specifier) })).toEqual([`${path}: noRestrictedImports`]);
});

test.each([
  ["a feature of the desk", "another feature", "desk/features/a/page.ts", "../b/page.ts"],
  ["a feature of the desk", "its app", "desk/features/a/page.ts", "../../app/screens.ts"],
  ["a feature of the desk", "the shop", "desk/features/a/page.ts", "../../../src/app/routes.ts"],
  ["the shell of the desk", "features", "desk/shell/ui/button.ts", "../../features/a/page.ts"],
  ["the shell of the desk", "the app", "desk/shell/ui/button.ts", "../../app/screens.ts"],
])("%s cannot import %s", (_, __, path, specifier) => {
  expect(lint({ [path]: importing(specifier) })).toEqual([`${path}: noRestrictedImports`]);
});

test("a feature of the desk can import its own files, the shell and shared code", () => {
  expect(
    lint({
      "desk/features/a/page.ts": [
        'import { value } from "./model.ts";',
        'import { button } from "../../shell/ui/button.ts";',
        'import { message } from "../../shared/message.ts";',
        'import { result } from "../../../src/shared/result.ts";',
        "export const used = [value, button, message, result];",
        "",
      ].join("\n"),
      "desk/features/a/model.ts": "export const value = 1;\n",
    }),
  ).toEqual([]);
});

test("files cannot import each other in a cycle, not even for types", () => {
  expect(
    lint({
      "src/shared/one.ts": importing("./two.ts"),
      "src/shared/two.ts": importing("./three.ts"),
      "src/shared/three.ts":
        'import type { copy } from "./one.ts";\nexport type T = typeof copy;\n',
    }),
  ).toEqual([
    "src/shared/one.ts: noImportCycles",
    "src/shared/three.ts: noImportCycles",
    "src/shared/two.ts: noImportCycles",
  ]);
});

test("a feature can import its own files, shared code, pictures and libraries", () => {
  expect(
    lint({
      "src/features/a/page.ts": [
        'import { value } from "./model.ts";',
        'import { paths } from "../../shared/paths.ts";',
        'import { previews } from "../../previews/index.ts";',
        'import { useState } from "react";',
        "export const used = [value, paths, previews, useState];",
        "",
      ].join("\n"),
      "src/features/a/model.ts": "export const value = 1;\n",
      "src/app/router.ts": importing("../features/a/model.ts"),
    }),
  ).toEqual([]);
});
