import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

/** Returns the package.json of a packed package. */
export function readManifest(archive) {
  return JSON.parse(execFileSync("tar", ["-xOzf", archive, "package/package.json"]));
}

/** Serves the packed packages of a folder as an npm registry; returns its URL and its end. */
export async function startRegistry(folder) {
  const packages = new Map();
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url);
    const tarball =
      path.startsWith("/files/") && [...packages.values()].find((file) => file.path === path);
    if (tarball) return void response.end(tarball.content);
    const found = packages.get(path.slice(1));
    response.statusCode = found ? 200 : 404;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(found ? toPackument(found) : {}));
  });
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".tgz"))) {
    const archive = join(folder, file);
    const manifest = readManifest(archive);
    packages.set(manifest.name, {
      manifest,
      path: `/files/${file}`,
      content: readFileSync(archive),
    });
  }
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${server.address().port}`;

  /** Returns what a registry says about a package of one version. */
  function toPackument({ manifest, path, content }) {
    const integrity = `sha512-${createHash("sha512").update(content).digest("base64")}`;
    const { name, version } = manifest;
    const dist = { tarball: `${url}${path}`, integrity };
    return {
      name,
      "dist-tags": { latest: version },
      versions: { [version]: { ...manifest, dist } },
    };
  }

  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url, close };
}
