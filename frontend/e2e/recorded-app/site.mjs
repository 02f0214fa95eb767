// Builds the application and serves it at localhost, which browsers accept for passkeys.
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

/** @type {Record<string, string>} */
const TYPES = { ".html": "text/html", ".js": "text/javascript" };

/** Serves the built application; every other path is its page. */
export async function servePage() {
  const outDir = await mkdtemp(join(tmpdir(), "basalt-recorded-app-"));
  const root = fileURLToPath(new URL(".", import.meta.url));
  await build({ root, configFile: false, logLevel: "error", build: { outDir, emptyOutDir: true } });
  const server = createServer(async (request, response) => {
    const path = new URL(request.url ?? "/", "http://localhost").pathname;
    const name = path.startsWith("/assets/") ? path : "/index.html";
    try {
      const content = await readFile(join(outDir, name));
      response
        .writeHead(200, { "content-type": TYPES[extname(name)] ?? "application/octet-stream" })
        .end(content);
    } catch {
      response.writeHead(404).end();
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  async function close() {
    server.closeAllConnections();
    server.close();
    await rm(outDir, { recursive: true });
  }
  return { origin: `http://localhost:${port}`, close };
}
