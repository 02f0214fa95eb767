import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { expect, type Page } from "@playwright/test";
import type { Session, SupabaseClient } from "@supabase/supabase-js";
import { mailsTo, test as shopTest } from "./shop.ts";

const FILES: Record<string, [type: string, file: string]> = {
  "/": ["text/html", "./supabase-page/index.html"],
  "/app": ["text/html", "./supabase-page/app.html"],
  "/walk.mjs": ["text/javascript", "./walk.mjs"],
  "/supabase.js": ["text/javascript", "../node_modules/@supabase/supabase-js/dist/umd/supabase.js"],
};

declare global {
  interface Window {
    /** The published client, made when the page of the app was loaded. */
    client: SupabaseClient;
    /** What `onAuthStateChange` has told since then. */
    events: string[];
  }
}

/** Pages on an origin of their own, as a developer's are, so that every call crosses origins. */
export async function servePages(): Promise<{ origin: string; close: () => void }> {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? "", "http://localhost");
    const [type, file] = FILES[pathname] ?? [];
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

/** A developer's app in a browser: a page that makes a client and hears its events, as every app does. */
export interface App {
  page: Page;
  /** Where mailed links should lead back to. */
  url: string;
  /** Loads the app anew, with a client for that flow. */
  open: (flowType: "implicit" | "pkce") => Promise<void>;
  /** The session that the client has now, once it has looked at its address. */
  session: () => Promise<Session | null>;
  /** The latest mail of a kind to an address. */
  mail: (address: string, kind: string) => Promise<{ link: string; code: string }>;
}

/** Tests with an app. */
export const test = shopTest.extend<{ app: App }>({
  app: async ({ page, basalt }, use) => {
    const pages = await servePages();
    const url = `${pages.origin}/app`;
    await use({
      page,
      url,
      async open(flowType) {
        await page.goto(pages.origin);
        const settings = { url: basalt.url, key: basalt.publishableKey, flowType };
        await page.evaluate((it) => localStorage.setItem("settings", JSON.stringify(it)), settings);
        await page.goto(url);
      },
      session: () =>
        page.evaluate(async () => (await window.client.auth.getSession()).data.session),
      async mail(address, kind) {
        let found: { link: string; code: string } | undefined;
        await expect(async () => {
          found = (await mailsTo(basalt.inboxUrl, address)).find((mail) => mail.kind === kind);
          expect(found, `a mail of the kind ${kind} to ${address}`).toBeDefined();
        }).toPass();
        if (!found) throw new Error("no mail");
        return found;
      },
    });
    pages.close();
  },
});

export { expect };
