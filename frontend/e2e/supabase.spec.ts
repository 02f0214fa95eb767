import { servePages } from "./developer.ts";
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

test("the published client works in a browser", async ({ page, context, basalt }) => {
  const developer = await servePages();
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
