import type { UserIdentity } from "@supabase/supabase-js";
import { findViolations } from "./axe.ts";
import { startBasalt } from "./basalt.mjs";
import { type App, appOn, expect, servePages, signedUp, test as withApp } from "./developer.ts";

/** An app whose server uses the provider simulator instead of Apple, Google and GitHub. */
const test = withApp.extend<{ socialApp: App }>({
  socialApp: async ({ page }, use) => {
    const pages = await servePages();
    const basalt = await startBasalt((config) =>
      config
        .replace("[auth]", "[auth]\nenable_manual_linking = true")
        .replace(
          "[basalt.shop]",
          `[basalt.provider]\nstands_in_for = ["apple", "google", "github"]\n$&`,
        ),
    );
    await use(appOn(page, pages.origin, basalt));
    await basalt.stop();
    pages.close();
  },
});

/** Starts a sign-in with the provider. */
async function signInWith(app: App, provider: "apple" | "google" | "github"): Promise<void> {
  // The client itself leaves the page, so the evaluation must not wait for the client's answer.
  await app.page.evaluate(
    ([provider, redirectTo]) => {
      const options = { provider: provider as "google", options: { redirectTo } };
      setTimeout(() => window.client.auth.signInWithOAuth(options));
    },
    [provider, app.url] as const,
  );
  await expect(app.page.getByRole("heading", { level: 1 })).toHaveText("Who do you want to be?");
}

/** Chooses a user at the provider, and waits for the redirect back to the app. */
async function choose(app: App, who: RegExp): Promise<void> {
  await app.page.getByRole("button", { name: who }).click();
  await app.page.waitForURL((url) => url.href.startsWith(app.url));
  await app.page.waitForFunction(() => window.client);
}

/** Returns the identities of the signed-in user, by provider. */
async function identities(app: App): Promise<Record<string, UserIdentity>> {
  const all = await app.page.evaluate(async () => {
    const { data, error } = await window.client.auth.getUserIdentities();
    if (error) throw error;
    return data.identities;
  });
  return Object.fromEntries(all.map((identity) => [identity.provider, identity]));
}

for (const flowType of ["implicit", "pkce"] as const) {
  test(`a provider signs in by the ${flowType} flow`, async ({ socialApp: app }) => {
    await app.open(flowType);
    await signInWith(app, "google");
    await choose(app, /Ann Example/);
    await expect.poll(async () => (await app.session())?.user.email).toBe("ann@example.com");
    const session = await app.session();
    expect(session?.user.app_metadata).toMatchObject({ provider: "google", providers: ["google"] });
    expect(session?.user.user_metadata).toMatchObject({ name: "Ann Example" });
    expect(session?.provider_token).toBeTruthy();
    expect(await app.page.evaluate(() => window.events)).toContain("SIGNED_IN");
    const first = session?.user.id;

    // The same address at another provider is the same user.
    await app.page.evaluate(() => window.client.auth.signOut());
    await signInWith(app, "github");
    await choose(app, /Ann Example/);
    await expect.poll(async () => (await app.session())?.user.id).toBe(first);
    expect(Object.keys(await identities(app)).sort()).toEqual(["github", "google"]);
  });
}

test("Apple posts its response from a page of its own, with the name", async ({
  socialApp: app,
}) => {
  await app.open("pkce");
  await signInWith(app, "apple");
  const posted = app.page.waitForRequest((request) => request.url().endsWith("/auth/v1/callback"));
  await choose(app, /Ann Example/);
  expect((await posted).method()).toBe("POST");
  await expect
    .poll(async () => (await app.session())?.user.user_metadata.full_name)
    .toBe("Ann Example");
});

test("a denial redirects to the app with an error and without a session", async ({
  socialApp: app,
}) => {
  await app.open("implicit");
  await signInWith(app, "google");
  await choose(app, /Nobody/);
  await expect(app.page).toHaveURL(/error=access_denied/);
  expect(await app.session()).toBeNull();
});

test("an identity is linked manually and unlinked again", async ({ socialApp: app }) => {
  await app.open("pkce");
  const email = await signedUp(app);
  await app.page.evaluate((redirectTo) => {
    const options = { provider: "github" as const, options: { redirectTo } };
    setTimeout(() => window.client.auth.linkIdentity(options));
  }, app.url);
  await app.page.getByRole("textbox", { name: "Address" }).fill("zoe@example.com");
  await choose(app, /Continue/);
  await expect
    .poll(async () => Object.keys(await identities(app)).sort())
    .toEqual(["email", "github"]);
  expect((await app.session())?.user.email).toBe(email);

  const error = await app.page.evaluate(
    async (identity) => {
      return (await window.client.auth.unlinkIdentity(identity)).error?.code;
    },
    (await identities(app)).github as UserIdentity,
  );
  expect(error).toBeUndefined();
  expect(Object.keys(await identities(app))).toEqual(["email"]);
});

test("the provider's page is accessible, also with the keyboard and at 320 px", async ({
  socialApp: app,
}) => {
  await app.page.setViewportSize({ width: 320, height: 640 });
  await app.open("implicit");
  await signInWith(app, "google");
  expect(await findViolations(app.page)).toEqual([]);
  const width = await app.page.evaluate(() => document.documentElement.scrollWidth);
  expect(width).toBeLessThanOrEqual(320);
  await app.page.keyboard.press("Tab");
  await expect(app.page.getByRole("button", { name: /Ann Example/ })).toBeFocused();
  await app.page.keyboard.press("Enter");
  await app.page.waitForURL((url) => url.href.startsWith(app.url));
  await expect.poll(async () => (await app.session())?.user.email).toBe("ann@example.com");
});
