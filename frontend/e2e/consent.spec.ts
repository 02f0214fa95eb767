import { randomUUID } from "node:crypto";
import type { Page } from "@playwright/test";
import { findViolations } from "./axe.ts";
import { registerApp, signUp, startProvider, type TestUser } from "./provider.mjs";
import { expect, mailsTo, test as withPage } from "./shop.ts";

type Basalt = Awaited<ReturnType<typeof startProvider>>;

const CALLBACK = "http://localhost:3999/callback";
// RFC 7636, appendix B.
const CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/** An app that redirects browsers to the authorization endpoint, and a user with an account. */
interface OAuthApp {
  page: Page;
  user: TestUser;
  /** Redirects the browser to the authorization endpoint. */
  startSignIn: (scope?: string) => Promise<void>;
  /** Returns the parameters of the redirect back to the app. */
  callbackParameters: () => Promise<URLSearchParams>;
}

const test = withPage.extend<{ oauthApp: OAuthApp }, { provider: Basalt }>({
  provider: [
    async ({ browserName: _ }, use) => {
      const provider = await startProvider();
      await use(provider);
      await provider.stop();
    },
    { scope: "worker", timeout: 180_000 },
  ],
  oauthApp: async ({ page, provider }, use) => {
    const app = await registerApp(provider, { client_name: "Shop app", redirect_uris: [CALLBACK] });
    const user = await signUp(provider, `${randomUUID()}@example.com`);
    await page.route(`${CALLBACK}*`, (route) => route.fulfill({ body: "the app" }));
    const startSignIn = async (scope = "openid email") => {
      const url = new URL(`${provider.url}/auth/v1/oauth/authorize`);
      url.search = new URLSearchParams({
        client_id: app.client_id,
        redirect_uri: CALLBACK,
        response_type: "code",
        scope,
        state: "s&1",
        code_challenge: CHALLENGE,
        code_challenge_method: "S256",
      }).toString();
      await page.goto(url.href).catch((error) => {
        // The page redirects at once if the user has approved before.
        if (!/interrupted/.test(String(error))) throw error;
      });
    };
    const callbackParameters = async () => {
      await page.waitForURL(`${CALLBACK}*`);
      return new URL(page.url()).searchParams;
    };
    await use({ page, user, startSignIn, callbackParameters });
  },
});

const heading = (page: Page) => page.getByRole("heading", { level: 1 });

/** Signs in with the keyboard alone. */
async function signIn({ page, user }: OAuthApp): Promise<void> {
  await expect(heading(page)).toHaveText("Sign in");
  await expect(heading(page)).toBeFocused();
  await page.keyboard.press("Tab");
  await page.keyboard.type(user.email);
  await page.keyboard.press("Tab");
  await page.keyboard.type(user.password);
  await page.keyboard.press("Enter");
  await expect(heading(page)).toHaveText("Let Shop app use your account?");
}

/** Waits until the page accepts clicks on a decision. */
async function waitUntilSettled(page: Page): Promise<void> {
  await page.evaluate(() => new Promise((done) => setTimeout(done, 600)));
}

test("a user signs in and approves with the keyboard; then the consent is remembered", async ({
  oauthApp,
}) => {
  const { page, user } = oauthApp;
  await oauthApp.startSignIn();
  await signIn(oauthApp);
  await expect(page).toHaveTitle("Let Shop app use your account?");
  await expect(heading(page)).toBeFocused();
  await expect(page.getByText(`You are signed in as ${user.email}`)).toBeVisible();
  await expect(page.getByText("http://localhost:3999", { exact: true })).toBeVisible();
  await expect(page.getByRole("listitem")).toHaveText([
    "to know which account here is yours",
    "your e-mail address",
  ]);
  await waitUntilSettled(page);
  await page.keyboard.press("Tab");
  await expect(page.getByRole("button", { name: "Not you?" })).toBeFocused();
  await page.keyboard.press("Tab");
  await expect(page.getByRole("button", { name: "Approve" })).toBeFocused();
  await page.keyboard.press("Enter");
  const first = await oauthApp.callbackParameters();
  expect([first.get("state"), first.get("error")]).toEqual(["s&1", null]);
  expect(first.get("code")).toBeTruthy();

  await oauthApp.startSignIn();
  const second = await oauthApp.callbackParameters();
  expect(second.get("code")).toBeTruthy();
  expect(second.get("code")).not.toBe(first.get("code"));

  // Additional scopes need a new consent.
  await oauthApp.startSignIn("openid email phone");
  await expect(page.getByRole("listitem")).toHaveCount(3);
});

test("a denial redirects to the app without a code", async ({ oauthApp }) => {
  await oauthApp.startSignIn();
  await signIn(oauthApp);
  await waitUntilSettled(oauthApp.page);
  await oauthApp.page.getByRole("button", { name: "Deny" }).click();
  const back = await oauthApp.callbackParameters();
  expect([back.get("error"), back.get("code")]).toEqual(["access_denied", null]);
});

test("another user signs in by a mailed code", async ({ oauthApp, provider }) => {
  const { page } = oauthApp;
  await oauthApp.startSignIn();
  await signIn(oauthApp);
  const other = await signUp(provider, `${randomUUID()}@example.com`);
  await page.getByRole("button", { name: "Not you?" }).click();
  await expect(heading(page)).toHaveText("Sign in");
  expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
  await page.getByLabel("E-mail address").fill(other.email);
  await page.getByRole("button", { name: "Mail me a code instead" }).click();
  await expect(heading(page)).toHaveText("Look into your mail");
  const [mail] = await mailsTo(provider.inboxUrl, other.email);
  await page.getByLabel("Code").fill(mail?.code ?? "");
  await page.getByRole("button", { name: "Sign in" }).click();
  // The request belongs to the first user who opened it.
  await expect(heading(page)).toHaveText("This request is over");
  await oauthApp.startSignIn();
  await expect(page.getByText(`You are signed in as ${other.email}`)).toBeVisible();
});

test("errors are shown at the field that they concern", async ({ oauthApp, provider }) => {
  const { page, user } = oauthApp;
  await page.goto(`${provider.url}/_dev/consent`);
  await expect(heading(page)).toHaveText("Nothing is asked here");
  await oauthApp.startSignIn();
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("alert").filter({ visible: true })).toHaveText(
    "Write your e-mail address.",
  );
  await expect(page.getByLabel("E-mail address")).toBeFocused();
  await page.getByLabel("E-mail address").fill(user.email);
  await page.getByLabel("Password").fill("not this one");
  await page.keyboard.press("Enter");
  await expect(page.getByLabel("Password")).toHaveAccessibleDescription(/do not belong together/);
  await page.getByLabel("Password").fill(user.password);
  await page.keyboard.press("Enter");
  await expect(heading(page)).toHaveText("Let Shop app use your account?");
  await page.goto(`${provider.url}/_dev/consent?authorization_id=gone`);
  await expect(heading(page)).toHaveText("This request is over");
});

test("a click right after the page got the focus approves nothing", async ({ oauthApp }) => {
  const { page } = oauthApp;
  await oauthApp.startSignIn();
  await signIn(oauthApp);
  await waitUntilSettled(page);
  await page.evaluate(() => {
    window.dispatchEvent(new Event("focus"));
    document.getElementById("approve")?.click();
  });
  await expect(page.getByRole("status")).toHaveText("");
  await expect(heading(page)).toHaveText("Let Shop app use your account?");
});

test("no other page can frame or read it", async ({ oauthApp, provider, page }) => {
  await oauthApp.startSignIn();
  const address = page.url().replace("127.0.0.1", "localhost");
  await page.route(CALLBACK, (route) =>
    route.fulfill({
      contentType: "text/html",
      body: `<iframe src="${address}"></iframe>`,
    }),
  );
  await page.goto(CALLBACK);
  const framed = page.frameLocator("iframe").getByRole("heading");
  await expect(page.locator("iframe")).toBeVisible();
  expect(await framed.count()).toBe(0);
  const read = await page.evaluate(
    (url) =>
      fetch(url).then(
        () => "read",
        () => "refused",
      ),
    `${provider.url}/_dev/consent`,
  );
  expect(read).toBe("refused");
});

for (const colorScheme of ["light", "dark"] as const) {
  test(`every screen is accessible at 320 px in ${colorScheme} colours`, async ({ oauthApp }) => {
    const { page } = oauthApp;
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width: 320, height: 640 });
    const look = async (screen: string) => {
      expect(await findViolations(page)).toEqual([]);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(width).toBeLessThanOrEqual(320);
      const folder = process.env.SCREENSHOTS;
      if (folder)
        await page.screenshot({ path: `${folder}/${colorScheme}-${screen}.png`, fullPage: true });
    };
    await oauthApp.startSignIn("openid email profile phone offline_access");
    await page.getByRole("button", { name: "Sign in" }).click();
    await look("sign-in");
    await signInAgain(oauthApp);
    await look("question");
    await page.goto(`${new URL(page.url()).origin}/_dev/consent?authorization_id=gone`);
    await expect(heading(page)).toHaveText("This request is over");
    await look("failed");
  });
}

async function signInAgain({ page, user }: OAuthApp): Promise<void> {
  await page.getByLabel("E-mail address").fill(user.email);
  await page.getByLabel("Password").fill(user.password);
  await page.keyboard.press("Enter");
  await expect(heading(page)).toHaveText("Let Shop app use your account?");
}
