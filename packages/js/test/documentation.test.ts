import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { expect, test } from "vitest";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const GUIDE = join(HERE, "../../../docs/testing/README.md");
/** What an example takes for granted, unless it declares it itself. */
const GIVEN = [
  ["world", 'declare const world: import("@basalt/test").World;'],
  ["basalt", 'declare const basalt: import("@basalt/test").Basalt;'],
  ["defineConfig", 'import { defineConfig } from "vitest/config";'],
] as const;
const TSCONFIG = {
  compilerOptions: {
    target: "ES2022",
    lib: ["ES2023", "ESNext.Disposable", "DOM"],
    module: "NodeNext",
    moduleDetection: "force",
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    noEmit: true,
    types: ["node"],
  },
  include: ["*.ts"],
};

/** Returns the examples of the guide, each file of a block on its own. */
function examples(): string[] {
  const blocks = readFileSync(GUIDE, "utf8").matchAll(/^```ts\n(.*?)^```/gms);
  return [...blocks].flatMap(([, code = ""]) => code.split(/^(?=\/\/ \S+\.ts$)/m));
}

test("the examples of the guide compile under strict", () => {
  const found = examples();
  expect(found.length).toBeGreaterThanOrEqual(5);
  const folder = mkdtempSync(join(HERE, "documentation-"));
  try {
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(TSCONFIG));
    for (const [index, code] of found.entries()) {
      const declares = (name: string) =>
        new RegExp(`(const|using|import .*|async \\(\\{) ${name}\\b`).test(code);
      const given = GIVEN.filter(([name]) => code.includes(name) && !declares(name));
      const text = [...given.map(([, declaration]) => declaration), code, "export {};", ""];
      writeFileSync(join(folder, `example${index}.ts`), text.join("\n"));
    }
    const compile = () =>
      execFileSync("npx", ["tsc", "--project", folder], { encoding: "utf8", stdio: "pipe" });
    let problems = "";
    try {
      compile();
    } catch (error) {
      problems = String((error as { stdout?: string }).stdout);
    }
    expect(problems).toBe("");
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 60_000);
