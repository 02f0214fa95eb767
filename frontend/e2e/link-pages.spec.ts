import { randomUUID } from "node:crypto";
import type { APIRequestContext, Browser } from "@playwright/test";
import { findViolations } from "./axe.ts";
import { startBasalt } from "./basalt.mjs";
import { PASSWORD } from "./developer.ts";
import { expect, mailsTo, test as shopTest } from "./shop.ts";

type Basalt = Awaited<ReturnType<typeof startBasalt>>;

/** The pages need no script. */
const test = shopTest;
test.use({ javaScriptEnabled: false });

const newAddress = () => `${randomUUID()}@example.com`;

/** Calls the auth API. */
async function call(
  request: APIRequestContext,
  basalt: Basalt,
  path: string,
  data: object,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const headers = { apikey: basalt.publishableKey };
  const response = await request.post(`${basalt.url}/auth/v1${path}`, { headers, data });
  return { status: response.status(), body: await response.json() };
}

/** Returns the latest link of a kind. */
async function linkTo(basalt: Basalt, email: string, kind: string): Promise<string> {
  let link = "";
  await expect(async () => {
    link = (await mailsTo(basalt.inboxUrl, email)).find((mail) => mail.kind === kind)?.link ?? "";
    expect(link).not.toBe("");
  }).toPass();
  return link;
}

/** Signs a user up, with the address confirmed. */
async function signUp(request: APIRequestContext, basalt: Basalt): Promise<string> {
  const email = newAddress();
  expect((await call(request, basalt, "/signup", { email, password: PASSWORD })).status).toBe(200);
  await request.get(await linkTo(basalt, email, "confirmation"));
  return email;
}

/** Asks for a new password. Limit: one mail per address and second. */
async function askForPassword(
  request: APIRequestContext,
  basalt: Basalt,
  email: string,
): Promise<string> {
  await expect(async () => {
    expect((await call(request, basalt, "/recover", { email })).status).toBe(200);
  }).toPass();
  return linkTo(basalt, email, "recovery");
}

async function signIn(request: APIRequestContext, basalt: Basalt, email: string, password: string) {
  return (await call(request, basalt, "/token?grant_type=password", { email, password })).status;
}

test("a link of a sign-up confirms and leads on, and says so when it was used", async ({
  page,
  request,
  basalt,
}) => {
  const email = newAddress();
  await call(request, basalt, "/signup", { email, password: PASSWORD });
  const link = await linkTo(basalt, email, "confirmation");
  await page.goto(link);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(
    "Your email address is confirmed",
  );
  await expect(page.getByRole("link", { name: "Continue to Email Templates" })).toHaveAttribute(
    "href",
    new RegExp(`^${basalt.url}/?#access_token=`),
  );
  expect(await signIn(request, basalt, email, PASSWORD)).toBe(200);

  const again = await page.goto(link);
  expect(again?.status()).toBe(410);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(
    "This link has expired or was used",
  );
});

test("a link of a forgotten password sets a new one", async ({ page, request, basalt }) => {
  const email = await signUp(request, basalt);
  await page.goto(await askForPassword(request, basalt, email));
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Choose a new password");
  await expect(page.getByText("At least 8 characters.")).toBeVisible();
  await page.getByLabel("New password").fill(PASSWORD);
  await page.getByRole("button", { name: "Save the password" }).click();
  await expect(page.getByRole("alert")).toHaveText(
    "This is the password you have now. Choose another one.",
  );
  await expect(page.getByLabel("New password")).toHaveAttribute("aria-invalid", "true");
  await page.getByLabel("New password").fill("a new and longer one");
  await page.getByRole("button", { name: "Save the password" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Your new password is saved");
  await expect(page.getByRole("link", { name: /^Continue to/ })).toHaveAttribute(
    "href",
    new RegExp(`^${basalt.url}/?$`),
  );
  expect(await signIn(request, basalt, email, PASSWORD)).toBe(400);
  expect(await signIn(request, basalt, email, "a new and longer one")).toBe(200);
});

test("an invitation welcomes and sets the password", async ({ page, request, basalt }) => {
  const email = newAddress();
  const headers = { apikey: basalt.secretKey, authorization: `Bearer ${basalt.secretKey}` };
  const invited = await request.post(`${basalt.url}/auth/v1/invite`, { headers, data: { email } });
  expect(invited.status()).toBe(200);
  await page.goto(await linkTo(basalt, email, "invite"));
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Welcome to Email Templates");
  await page.getByLabel("New password").fill("an invited password");
  await page.getByRole("button", { name: "Save the password" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Your account is ready");
  expect(await signIn(request, basalt, email, "an invited password")).toBe(200);
});

test("a magic link signs in and continues with the session", async ({ page, request, basalt }) => {
  const email = await signUp(request, basalt);
  await expect(async () => {
    expect((await call(request, basalt, "/otp", { email, create_user: false })).status).toBe(200);
  }).toPass();
  await page.goto(await linkTo(basalt, email, "magic_link"));
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("You are signed in");
  await expect(page.getByRole("link", { name: /^Continue to/ })).toHaveAttribute(
    "href",
    /#access_token=/,
  );
});

test.describe("with a script", () => {
  test.use({ javaScriptEnabled: true });

  test("the shop takes the session of a link out of the address before it shows", async ({
    page,
    request,
    basalt,
  }) => {
    const email = await signUp(request, basalt);
    await expect(async () => {
      expect((await call(request, basalt, "/otp", { email, create_user: false })).status).toBe(200);
    }).toPass();
    await page.goto(await linkTo(basalt, email, "magic_link"));
    await page.getByRole("link", { name: /^Continue to/ }).click({ noWaitAfter: true });
    await page.waitForURL((url) => url.pathname === "/", { waitUntil: "domcontentloaded" });
    expect(page.url()).toBe(`${basalt.url}/`);
    await expect
      .poll(() => page.evaluate(() => JSON.stringify(localStorage)))
      .toContain("access_token");
  });
});

test("a used link sends a new one to the entered address, whether there is an account or not", async ({
  page,
  request,
  basalt,
}) => {
  const email = await signUp(request, basalt);
  const link = await askForPassword(request, basalt, email);
  await request.get(link);
  const before = (await mailsTo(basalt.inboxUrl, email)).length;
  for (const address of [newAddress(), email]) {
    await page.waitForTimeout(1_100);
    await page.goto(link);
    await page.getByLabel("Your email address").fill(address);
    await page.getByRole("button", { name: "Send a new link" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Look into your mailbox");
    await expect(page.getByText("If an account with this address waits for a link")).toBeVisible();
  }
  await expect(async () => {
    expect((await mailsTo(basalt.inboxUrl, email)).length).toBe(before + 1);
  }).toPass();
  await page.goto(await linkTo(basalt, email, "recovery"));
  await expect(page.getByLabel("New password")).toBeVisible();
});

test("an expired link sends a new one with a click", async ({ page, request }) => {
  const basalt = await startBasalt((config) =>
    config.replace("otp_expiry = 3600", "otp_expiry = 1"),
  );
  try {
    const email = newAddress();
    await call(request, basalt, "/signup", { email, password: PASSWORD });
    const link = await linkTo(basalt, email, "confirmation");
    await page.waitForTimeout(2_100);
    await page.goto(link);
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(
      "This link has expired or was used",
    );
    await expect(page.getByLabel("Your email address")).toHaveCount(0);
    await page.getByRole("button", { name: "Send a new link" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Look into your mailbox");
    await expect(async () => {
      expect((await mailsTo(basalt.inboxUrl, email)).length).toBe(2);
    }).toPass();
  } finally {
    await basalt.stop();
  }
});

test("a link of the PKCE flow shows a code for the browser in which it began", async ({
  page,
  request,
  basalt,
}) => {
  const email = await signUp(request, basalt);
  await expect(async () => {
    const asked = await call(request, basalt, "/otp", {
      email,
      create_user: false,
      code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
      code_challenge_method: "s256",
    });
    expect(asked.status).toBe(200);
  }).toPass();
  await page.goto(await linkTo(basalt, email, "magic_link"));
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(
    "Enter this code where you began",
  );
  const code = (await page.locator(".code").textContent()) ?? "";
  expect(code).toMatch(/^\d{6}$/);
  const verified = await call(request, basalt, "/verify", { type: "email", email, token: code });
  expect(verified.status).toBe(200);
  expect(verified.body.access_token).toEqual(expect.any(String));
});

test("programs do not use a link up, and its page has a button", async ({ browser, request }) => {
  // A headless Chromium names itself a program.
  const userAgent =
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140";
  const page = await (await browser.newContext({ userAgent })).newPage();
  const basalt = await startBasalt(
    (config) => `${config}\n[basalt.mailed_links]\nbutton = "programs"\n`,
  );
  try {
    const email = newAddress();
    await call(request, basalt, "/signup", { email, password: PASSWORD });
    const link = await linkTo(basalt, email, "confirmation");
    expect((await request.head(link, { maxRedirects: 0 })).status()).toBe(200);
    const scanned = await request.get(link, { maxRedirects: 0 });
    expect(scanned.status()).toBe(200);
    expect(await scanned.text()).toContain("<form");
    expect(await signIn(request, basalt, email, PASSWORD)).toBe(400);
    await page.goto(link);
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(
      "Your email address is confirmed",
    );
  } finally {
    await basalt.stop();
  }
});

test("the operator can have the button always", async ({ page, request }) => {
  const basalt = await startBasalt(
    (config) => `${config}\n[basalt.mailed_links]\nbutton = "always"\n`,
  );
  try {
    const email = newAddress();
    await call(request, basalt, "/signup", { email, password: PASSWORD });
    await page.goto(await linkTo(basalt, email, "confirmation"));
    expect(await signIn(request, basalt, email, PASSWORD)).toBe(400);
    await page.getByRole("button", { name: "Continue" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(
      "Your email address is confirmed",
    );
    expect(await signIn(request, basalt, email, PASSWORD)).toBe(200);
  } finally {
    await basalt.stop();
  }
});

for (const [locale, title] of [
  ["de-AT", "Neues Passwort wählen"],
  ["fr-FR", "Choisissez un nouveau mot de passe"],
  ["es-MX", "Elige una contraseña nueva"],
] as const) {
  test(`the pages speak ${locale}`, async ({ browser, request, basalt }) => {
    const email = await signUp(request, basalt);
    const link = await askForPassword(request, basalt, email);
    const page = await (await browser.newContext({ locale })).newPage();
    await page.goto(link);
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(title);
    await expect(page.locator("html")).toHaveAttribute("lang", locale.slice(0, 2));
    await page.context().close();
  });
}

for (const colorScheme of ["light", "dark"] as const) {
  test(`axe finds nothing on the pages of links in ${colorScheme} colours`, async ({
    browser,
    request,
    basalt,
  }) => {
    const page = await newPhone(browser, colorScheme);
    const email = await signUp(request, basalt);
    const link = await askForPassword(request, basalt, email);
    const expectNoViolations = async (name: string) => {
      expect(await findViolations(page), name).toEqual([]);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(width, name).toBe(320);
    };
    await page.goto(link);
    await expectNoViolations("the new password");
    await page.getByLabel("New password").fill(PASSWORD);
    await page.keyboard.press("Enter");
    await expect(page.getByRole("alert")).toBeVisible();
    await expectNoViolations("the refused password");
    await page.goto(link);
    await expectNoViolations("the used link");
    await page.context().close();
  });
}

async function newPhone(browser: Browser, colorScheme: "light" | "dark") {
  return (
    await browser.newContext({
      colorScheme,
      javaScriptEnabled: true,
      viewport: { width: 320, height: 640 },
    })
  ).newPage();
}
