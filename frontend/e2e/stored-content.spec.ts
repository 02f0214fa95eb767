// Files that users stored with the storage API, opened in a browser in the origin of the shop and the desk.
import { test as base, expect, type Page } from "@playwright/test";
import { startBasalt } from "./basalt.mjs";
import { foreignFiles } from "./foreign-files";

type Basalt = Awaited<ReturnType<typeof startBasalt>>;

/** Asks the desk for its session, and the server for a file that tells that it ran. */
const SCRIPT = `document.title = "ran";
new Image().src = "/beacon";
fetch("/_desk/api/session").then(() => fetch("/beacon"));`;

const FILES = foreignFiles(SCRIPT);

const BUCKET = `
insert into storage.buckets (id, name, public) values ('files', 'files', true), ('private', 'private', false);`;

const test = base.extend<object, { basalt: Basalt }>({
  basalt: [
    // biome-ignore lint/correctness/noEmptyPattern: the form that Playwright reads
    async ({}, use) => {
      const basalt = await startBasalt((config) => config, {
        "migrations/20260101000000_files.sql": BUCKET,
      });
      for (const bucket of ["files", "private"]) {
        for (const [name, [type, content]] of Object.entries(FILES)) {
          const response = await fetch(`${basalt.url}/storage/v1/object/${bucket}/${name}`, {
            method: "POST",
            headers: { apikey: basalt.secretKey, ...(type ? { "content-type": type } : {}) },
            body: new Blob([content as BlobPart]),
          });
          if (!response.ok) throw new Error(`${name}: ${await response.text()}`);
        }
      }
      await use(basalt);
      await basalt.stop();
    },
    { scope: "worker", timeout: 180_000 },
  ],
});

const publicUrl = (basalt: Basalt, name: string) =>
  `${basalt.url}/storage/v1/object/public/files/${name}`;

async function signedUrl(basalt: Basalt, name: string): Promise<string> {
  const response = await fetch(`${basalt.url}/storage/v1/object/sign/private/${name}`, {
    method: "POST",
    headers: { apikey: basalt.secretKey, "content-type": "application/json" },
    body: JSON.stringify({ expiresIn: 60 }),
  });
  const { signedURL } = (await response.json()) as { signedURL: string };
  return `${basalt.url}/storage/v1${signedURL}`;
}

/** Opens a file, which may become a download, and returns the requests of its document after scripts had time to run. */
async function open(page: Page, url: string): Promise<string[]> {
  const requests: string[] = [];
  page.on("request", (request) => requests.push(new URL(request.url()).pathname));
  await page.goto(url).catch((error: Error) => {
    expect(error.message).toContain("Download is starting");
  });
  await page.waitForTimeout(300);
  return requests;
}

for (const kind of ["public", "signed"]) {
  for (const name of Object.keys(FILES)) {
    test(`${name} by a ${kind} URL runs no script in the origin of the server`, async ({
      page,
      basalt,
    }) => {
      const url = kind === "public" ? publicUrl(basalt, name) : await signedUrl(basalt, name);
      const requests = await open(page, url);
      expect(await page.title()).not.toBe("ran");
      expect(requests.filter((path) => path.includes("beacon") || path.includes("_desk"))).toEqual(
        [],
      );
    });
  }
}

test("documents of stored files have no origin", async ({ page, basalt }) => {
  for (const name of ["a.svg", "a.html", "a.xhtml", "a.xml"]) {
    await page.goto(publicUrl(basalt, name));
    expect(await page.evaluate(() => window.origin), name).toBe("null");
  }
});

test("a frame of a stored page cannot reach the page around it", async ({ page, basalt }) => {
  await page.goto(`${basalt.url}/`);
  const framed = await page.evaluate(
    async (url) => {
      const frame = document.createElement("iframe");
      frame.src = url;
      const loaded = new Promise((resolve) => frame.addEventListener("load", resolve));
      document.body.append(frame);
      await loaded;
      return frame.contentDocument === null;
    },
    publicUrl(basalt, "a.svg"),
  );
  expect(framed).toBe(true);
  expect(await page.title()).not.toBe("ran");
});

test("a page shows stored pictures and reads stored files", async ({ page, basalt }) => {
  await page.goto(`${basalt.url}/`);
  const read = await page.evaluate(
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
    ["a.svg", "a.png", "a.html"].map((name) => publicUrl(basalt, name)) as [string, string, string],
  );
  expect(read).toEqual([9, 1, 1]);
});
