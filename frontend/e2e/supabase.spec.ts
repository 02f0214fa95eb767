import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { expect, mailsTo, test } from "./shop.ts";
import type { EXPECTED, walk } from "./walk.mjs";

declare global {
  interface Window {
    EXPECTED: typeof EXPECTED;
    walk: typeof walk;
    supabase: Pick<typeof import("@supabase/supabase-js"), "createClient">;
    mailedLink: (address: string) => Promise<string>;
    follow: (link: string) => Promise<void>;
  }
}

const FILES: Record<string, [type: string, file: string]> = {
  "/": ["text/html", "./supabase-page/index.html"],
  "/walk.mjs": ["text/javascript", "./walk.mjs"],
  "/supabase.js": ["text/javascript", "../node_modules/@supabase/supabase-js/dist/umd/supabase.js"],
};

/** A page on an origin of its own, as a developer's is, so that every call crosses origins. */
async function servePage(): Promise<{ origin: string; close: () => void }> {
  const server = createServer(async (request, response) => {
    const [type, file] = FILES[request.url ?? ""] ?? [];
    if (!type || !file) {
      response.writeHead(404).end();
      return;
    }
    const content = await readFile(fileURLToPath(new URL(file, import.meta.url)));
    response.writeHead(200, { "content-type": type }).end(content);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, close: () => server.close() };
}

test("the published client walks the whole way in a browser", async ({ page, context, basalt }) => {
  const developer = await servePage();
  await page.exposeFunction("mailedLink", async (address: string) => {
    return (await mailsTo(basalt.inboxUrl, address))[0]?.link;
  });
  await page.exposeFunction("follow", async (link: string) => {
    const reader = await context.newPage();
    await reader.goto(link);
    await expect(reader).toHaveURL(/#access_token=.*type=signup/);
    await reader.close();
  });
  await page.goto(developer.origin);

  const [seen, expected] = await page.evaluate(
    async ({ url, key, address }) => {
      const { mailedLink, follow: open, supabase, walk, EXPECTED } = window;
      return [await walk({ ...supabase, url, key, address, mailedLink, open }), EXPECTED] as const;
    },
    { url: basalt.url, key: basalt.publishableKey, address: `browser-${Date.now()}@example.com` },
  );
  developer.close();
  expect(seen).toEqual(expected);
});
