import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { expect, type Page } from "@playwright/test";
import type { Session, SupabaseClient } from "@supabase/supabase-js";
import type { startBasalt } from "./basalt.mjs";
import { mailsTo, test as shopTest } from "./shop.ts";

const FILES: Record<string, [type: string, file: string]> = {
  "/": ["text/html", "./supabase-page/index.html"],
  "/app": ["text/html", "./supabase-page/app.html"],
  "/walk.mjs": ["text/javascript", "./walk.mjs"],
  "/supabase.js": ["text/javascript", "../node_modules/@supabase/supabase-js/dist/umd/supabase.js"],
};

declare global {
  interface Window {
    /** The published client, created when the page of the app was loaded. */
    client: SupabaseClient;
    /** The events of `onAuthStateChange` since then. */
    events: string[];
  }
}

/** Serves the pages of an app on an origin of its own, so that every call is cross-origin. */
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

/** An app in a browser: a page that creates a client and records its events. */
export interface App {
  page: Page;
  /** The redirect URL of mailed links. */
  url: string;
  /** Reloads the app with a client for that flow. */
  open: (flowType: "implicit" | "pkce") => Promise<void>;
  /** Returns the current session of the client. */
  session: () => Promise<Session | null>;
  /** Returns the latest mail of a kind to an address. */
  mail: (address: string, kind: string) => Promise<{ link: string; code: string }>;
}

type Basalt = Awaited<ReturnType<typeof startBasalt>>;

/** Returns an app on `origin` with a client of this server. */
export function appOn(page: Page, origin: string, basalt: Basalt): App {
  const url = `${origin}/app`;
  return {
    page,
    url,
    async open(flowType) {
      await page.goto(origin);
      const settings = { url: basalt.url, key: basalt.publishableKey, flowType };
      await page.evaluate(
        (value) => localStorage.setItem("settings", value),
        JSON.stringify(settings),
      );
      await page.goto(url);
    },
    session: () => page.evaluate(async () => (await window.client.auth.getSession()).data.session),
    async mail(address, kind) {
      let found: { link: string; code: string } | undefined;
      await expect(async () => {
        found = (await mailsTo(basalt.inboxUrl, address)).find((mail) => mail.kind === kind);
        expect(found, `a mail of the kind ${kind} to ${address}`).toBeDefined();
      }).toPass();
      if (!found) throw new Error("no mail");
      return found;
    },
  };
}

/** Tests with an app. */
export const test = shopTest.extend<{ app: App }>({
  app: async ({ page, basalt }, use) => {
    const pages = await servePages();
    await use(appOn(page, pages.origin, basalt));
    pages.close();
  },
});

export const PASSWORD = "correct horse battery";

/** Returns an unused address. */
export function newAddress(): string {
  return `${randomUUID()}@example.com`;
}

/** Signs a new user up with a password and follows the mailed link; the user is then signed in. */
export async function signedUp(app: App): Promise<string> {
  const email = newAddress();
  const error = await app.page.evaluate(
    async ([email, password, url]) => {
      const { error } = await window.client.auth.signUp({
        email,
        password,
        options: { emailRedirectTo: url },
      });
      return error?.message;
    },
    [email, PASSWORD, app.url] as const,
  );
  expect(error).toBeUndefined();
  await app.page.goto((await app.mail(email, "confirmation")).link);
  expect((await app.session())?.user.email).toBe(email);
  return email;
}

/** Ends the session. */
export async function signOut(app: App): Promise<void> {
  await app.page.evaluate(() => window.client.auth.signOut());
  expect(await app.session()).toBeNull();
}

/** Signs in; returns the error code of the client, if there is an error. */
export async function signInByPassword(
  app: App,
  email: string,
  password: string,
): Promise<string | undefined> {
  return app.page.evaluate(
    async ([email, password]) => {
      const { error } = await window.client.auth.signInWithPassword({ email, password });
      return error?.code;
    },
    [email, password] as const,
  );
}

export { expect };
