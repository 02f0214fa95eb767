// Builds the npm packages: @basalt/test, and the package with the binary of this platform.
//   node clients/package.mjs BINARY FOLDER
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** A larger binary has debugging symbols, which a package does not need. */
const STRIPPED_SIZE = 40_000_000;
const PLATFORMS = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"];

const [binary, folder] = process.argv.slice(2).map((path) => resolve(path));
const root = fileURLToPath(new URL("../", import.meta.url));
const library = join(root, "clients/js");
const manifest = readJson(join(library, "package.json"));
const postgres = readJson(join(root, "server/postgres/package.json")).optionalDependencies;
const { version, license, engines } = manifest;
const platform = `${process.platform}-${process.arch}`;

function readJson(path) {
  return JSON.parse(readFileSync(path, "utf8"));
}

/** Packs a package that `fill` writes into an empty folder. */
function pack(manifest, fill) {
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

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });

// The workspace has neither the program nor the platform packages: only the published package does.
pack(
  {
    ...manifest,
    bin: { basalt: "dist/cli.js" },
    optionalDependencies: Object.fromEntries(PLATFORMS.map((it) => [`@basalt/cli-${it}`, version])),
  },
  (staging) => {
    cpSync(join(library, "dist"), join(staging, "dist"), { recursive: true });
    copyFileSync(join(library, "README.md"), join(staging, "README.md"));
  },
);

pack(
  {
    name: `@basalt/cli-${platform}`,
    version,
    description: `The binary of Basalt for ${platform}`,
    license,
    engines,
    os: [process.platform],
    cpu: [process.arch],
    files: ["bin"],
    // The PostgreSQL that the binary starts.
    dependencies: Object.fromEntries(
      Object.entries(postgres).filter(([name]) => name.endsWith(`/${platform}`)),
    ),
  },
  (staging) => {
    const copy = join(staging, "bin/basalt");
    mkdirSync(join(staging, "bin"));
    copyFileSync(binary, copy);
    chmodSync(copy, 0o755);
    if (statSync(copy).size > STRIPPED_SIZE) execFileSync("strip", ["--strip-debug", copy]);
  },
);
