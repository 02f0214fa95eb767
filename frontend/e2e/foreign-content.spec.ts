// Files that a service of the operator returns, opened in a browser in the origin of the shop and the desk.
import { createServer, type Server } from "node:http";
import { test as base, expect, type Page } from "@playwright/test";
import { startBasalt } from "./basalt.mjs";
import { BROWSER_WITH_VIEWER } from "./browser.ts";
import { foreignFiles } from "./foreign-files";

type Basalt = Awaited<ReturnType<typeof startBasalt>>;

/** Asks the desk for its session and tells the service that it ran. */
const SCRIPT = `document.title = "ran";
new Image().src = "/storage/v1/object/public/beacon";
fetch("/_desk/api/session").then(() => fetch("/storage/v1/object/public/beacon"));`;

/** Stored files by name: the type that the service names, and the content. */
const FILES = foreignFiles(SCRIPT);

interface Storage {
  url: string;
  server: Server;
  /** The paths that were asked for. */
  paths: string[];
}

async function startStorage(): Promise<Storage> {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    const name = (request.url ?? "").split("/").at(-1) ?? "";
    paths.push(request.url ?? "");
    const [type, content] = FILES[name] ?? ["text/plain", ""];
    if (type !== undefined) response.setHeader("content-type", type);
    response.end(content);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return { url: `http://127.0.0.1:${address.port}`, server, paths };
}

const test = base.extend<object, { storage: Storage; basalt: Basalt }>({
  storage: [
    // biome-ignore lint/correctness/noEmptyPattern: the form that Playwright reads
    async ({}, use) => {
      const storage = await startStorage();
      await use(storage);
      storage.server.close();
      storage.server.closeAllConnections();
    },
    { scope: "worker" },
  ],
  basalt: [
    async ({ storage }, use) => {
      const upstreams = `\n[basalt.upstreams]\nstorage = "${storage.url}"\n`;
      const basalt = await startBasalt((config) => config + upstreams);
      await use(basalt);
      await basalt.stop();
    },
    { scope: "worker", timeout: 180_000 },
  ],
});

test.use({ launchOptions: BROWSER_WITH_VIEWER });

const urlOf = (basalt: Basalt, name: string) =>
  `${basalt.url}/storage/v1/object/public/files/${name}`;

/** Opens a file and returns the origin of its document, after scripts had time to run. */
async function open(page: Page, basalt: Basalt, name: string): Promise<string> {
  await page.goto(urlOf(basalt, name));
  await page.waitForTimeout(300);
  return page.evaluate(() => window.origin);
}

for (const name of ["a.svg", "a.html", "a.xhtml", "a.xml"]) {
  test(`scripts of ${name} do not run and its document has no origin`, async ({
    page,
    basalt,
    storage,
  }) => {
    expect(await open(page, basalt, name)).toBe("null");
    expect(await page.title()).not.toBe("ran");
    expect(storage.paths.some((path) => path.includes("beacon"))).toBe(false);
  });
}

test("files whose type is missing or wrong are not read as pages", async ({
  page,
  basalt,
  storage,
}) => {
  for (const name of ["untyped", "polyglot.gif"]) {
    await page.goto(urlOf(basalt, name)).catch((error: Error) => {
      expect(error.message).toContain("Download is starting");
    });
    await page.waitForTimeout(300);
    expect(await page.title()).not.toBe("ran");
  }
  expect(storage.paths.some((path) => path.includes("beacon"))).toBe(false);
});

test("a page shows stored pictures and reads stored files", async ({ page, basalt }) => {
  await page.goto(`${basalt.url}/`);
  const widths = await page.evaluate(
    async ([svg, png, html]) => {
      const load = async (src: string) => {
        const picture = new Image();
        picture.src = src;
        await picture.decode();
        return picture.naturalWidth;
      };
      const text = await (await fetch(html)).text();
      return [await load(svg), await load(png), text.includes("stored") ? 1 : 0];
    },
    ["a.svg", "a.png", "a.html"].map((name) => urlOf(basalt, name)) as [string, string, string],
  );
  expect(widths).toEqual([9, 1, 1]);
});

test("a picture and a PDF are shown when they are opened", async ({ page, basalt }) => {
  await page.goto(urlOf(basalt, "a.png"));
  expect(await page.evaluate(() => document.images[0]?.naturalWidth)).toBe(1);
  await page.goto(urlOf(basalt, "a.pdf"));
  // The viewer is an extension of the browser, in a frame of its own beside that of the pages.
  await expect
    .poll(() => page.frames().some((frame) => frame.url().startsWith("chrome-extension:")))
    .toBe(true);
});
