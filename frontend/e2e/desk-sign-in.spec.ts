import { codeOf, withAuthenticator } from "./authenticators.ts";
import { enterOwner, expect, setUp, signIn, setupTest as test } from "./desk.ts";

test("the one-time link makes the owner once", async ({ page, empty }) => {
  await page.goto("/_desk/");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("The desk is not set up yet");

  const owner = await setUp(page, empty.deskSetupUrl);
  expect(page.url()).not.toContain("setup");
  await page.reload();
  await expect(page.getByRole("heading", { name: "Submissions" })).toBeVisible();

  await page.getByRole("button", { name: /Account of/ }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Sign in to the desk");

  await page.goto("about:blank");
  await page.goto(empty.deskSetupUrl);
  await page.getByRole("textbox", { name: "Email address" }).fill("other@example.com");
  await expect(page.getByText("At least 8 characters.")).toBeVisible();
  await page.getByLabel("New password").fill("another long sentence 8");
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page.getByRole("alert")).toContainText("not valid");
  await page.getByRole("button", { name: /already set up/ }).click();

  await page.getByRole("textbox", { name: "Email address" }).fill(owner.email);
  await page.getByRole("textbox", { name: "Password" }).fill("wrong");
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page.getByRole("alert")).toBeVisible();
  await expect(page.getByRole("textbox", { name: "Email address" })).toHaveValue(owner.email);
});

test("a session that ends leads to the sign-in and back to the same address", async ({
  page,
  empty,
}) => {
  const owner = await setUp(page, empty.deskSetupUrl);
  await page.goto("/_desk/figures?days=7");
  await expect(page.getByRole("heading", { name: "Views per day" })).toBeVisible();
  await page.context().clearCookies();
  await page.getByRole("button", { name: "90 days" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Sign in to the desk");
  await signIn(page, owner);
  await expect(page.getByRole("button", { name: "90 days" })).toHaveAttribute(
    "aria-pressed",
    "true",
  );
});

test("a wrong code is refused and the right one accepted", async ({ page, empty }) => {
  await page.goto(empty.deskSetupUrl);
  const secret = await enterOwner(page, "codes@example.com");
  const field = page.getByLabel("Code of the authenticator app");
  await field.fill("12345");
  await page.getByRole("button", { name: "Confirm" }).click();
  await expect(page.getByText("Enter the six digits that the app shows now.")).toBeVisible();
  await expect(field).toBeFocused();
  await field.fill(codeOf(secret, 1000));
  await page.getByRole("button", { name: "Confirm" }).click();
  await expect(page.getByRole("alert")).toContainText("The code is not valid");
  await field.fill(codeOf(secret));
  await page.getByRole("button", { name: "Confirm" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Keep the recovery codes");
});

test("a passkey of the setup signs in, and is removed on the account's screen", async ({
  page,
  empty,
}) => {
  await withAuthenticator(page, "internal");
  // Passkeys belong to a name, which an address of digits has not.
  expect(empty.deskSetupUrl).toContain("http://localhost:");
  await page.goto(empty.deskSetupUrl);
  const secret = await enterOwner(page, "passkeys@example.com");
  await page.getByLabel("Code of the authenticator app").fill(codeOf(secret));
  await page.getByRole("button", { name: "Confirm" }).click();
  await page.getByRole("button", { name: "I have kept the codes" }).click();
  await page.getByRole("button", { name: "Create a passkey" }).click();
  await expect(page.getByRole("heading", { name: "Submissions" })).toBeVisible();

  await page.getByRole("button", { name: /Account of/ }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.goto("/_desk/account");
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Account");

  // A change of the passkeys needs password and code.
  await page.getByRole("button", { name: /Remove the passkey/ }).click();
  await page.getByRole("button", { name: "Remove passkey", exact: true }).click();
  await expect(page.getByRole("alert")).toContainText("sign in with password and code");
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await signIn(page, { email: "passkeys@example.com", secret });
  await page.getByRole("button", { name: /Remove the passkey/ }).click();
  await page.getByRole("button", { name: "Remove passkey", exact: true }).click();
  await expect(page.getByText("No passkey yet")).toBeVisible();
  await expect(page.getByText("The passkey is removed.")).toBeVisible();
});

test("a recovery code replaces a lost authenticator app, once", async ({ page, empty }) => {
  await page.goto(empty.deskSetupUrl);
  const secret = await enterOwner(page, "recovery@example.com");
  await page.getByLabel("Code of the authenticator app").fill(codeOf(secret));
  await page.getByRole("button", { name: "Confirm" }).click();
  const list = page.getByRole("list", { name: "Recovery codes" }).getByRole("listitem");
  await expect(list).toHaveCount(10);
  const [code] = await list.allTextContents();
  await page.getByRole("button", { name: "I have kept the codes" }).click();
  await page.getByRole("button", { name: "Not now" }).click();
  await page.getByRole("button", { name: /Account of/ }).click();
  await page.getByRole("button", { name: "Sign out" }).click();

  async function enterRecoveryCode(entered: string): Promise<void> {
    await page.getByRole("textbox", { name: "Email address" }).fill("recovery@example.com");
    await page.getByRole("textbox", { name: "Password" }).fill("a long sentence for the desk 7");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("button", { name: "Authenticator app lost?" }).click();
    await page.getByLabel("Recovery code").fill(entered);
    await page.getByRole("button", { name: "Continue" }).click();
  }
  await enterRecoveryCode("abcd-efgh-ijkl-mnop");
  await expect(page.getByRole("alert")).toContainText("The recovery code is not valid");
  await page.getByLabel("Recovery code").fill((code ?? "").toUpperCase().replaceAll("-", " "));
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Connect an authenticator app");
  const renewed = (await page.locator("code").textContent())?.replaceAll(/\s/g, "") ?? "";
  expect(renewed).not.toBe(secret);
  await page.getByLabel("Code of the authenticator app").fill(codeOf(renewed));
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("heading", { name: "Submissions" })).toBeVisible();

  await page.getByRole("button", { name: /Account of/ }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await enterRecoveryCode(code ?? "");
  await expect(page.getByRole("alert")).toContainText("The recovery code is not valid");
});

test("a setup that is interrupted before the codes are kept leads to new ones", async ({
  page,
  empty,
}) => {
  await page.goto(empty.deskSetupUrl);
  const email = "interrupted@example.com";
  const secret = await enterOwner(page, email);
  await page.getByLabel("Code of the authenticator app").fill(codeOf(secret));
  await page.getByRole("button", { name: "Confirm" }).click();
  const list = page.getByRole("list", { name: "Recovery codes" }).getByRole("listitem");
  await expect(list).toHaveCount(10);
  const [unseen] = await list.allTextContents();

  await page.context().clearCookies();
  await page.goto("about:blank");
  await page.goto("/_desk/checklist");
  await signIn(page, { email, secret });
  const notice = page.getByRole("region", { name: "Notice about recovery codes" });
  await expect(notice).toContainText("You have not confirmed that you kept your recovery codes.");
  await notice.getByRole("button", { name: "Make new codes" }).click();
  await expect(list).toHaveCount(10);
  expect(await list.allTextContents()).not.toContain(unseen);
  await notice.getByRole("button", { name: "I have kept the codes" }).click();
  await expect(notice).toHaveCount(0);
  const item = page.getByRole("listitem").filter({ hasText: "Recovery codes" });
  await expect(item).toContainText("Done");
  await page.reload();
  await expect(page.getByRole("heading", { name: "Checklist" })).toBeVisible();
  await expect(notice).toHaveCount(0);
});

test("a passkey is offered only at the address where it works", async ({ page, empty }) => {
  await withAuthenticator(page, "internal");
  const byNumber = empty.deskSetupUrl.replace("localhost", "127.0.0.1");
  await page.goto(byNumber);
  const secret = await enterOwner(page, "numbers@example.com");
  await page.getByLabel("Code of the authenticator app").fill(codeOf(secret));
  await page.getByRole("button", { name: "Confirm" }).click();
  await page.getByRole("button", { name: "I have kept the codes" }).click();
  await expect(page.getByRole("heading", { name: "Submissions" })).toBeVisible();
  await page.goto(`${new URL(byNumber).origin}/_desk/account`);
  await expect(page.getByText("Passkeys do not work at this address.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Add a passkey" })).toHaveCount(0);
  const link = page.getByRole("link", { name: /^http:\/\/localhost:\d+\/_desk\/$/ });
  await expect(link).toBeVisible();
});

test("the first screen needs at most 110 kB of script on the wire", async ({ page, empty }) => {
  const scripts: Promise<number>[] = [];
  page.on("requestfinished", (request) => {
    const isScript = request.resourceType() === "script";
    if (isScript) scripts.push(request.sizes().then(({ responseBodySize }) => responseBodySize));
  });
  await setUp(page, empty.deskSetupUrl);
  await page.waitForLoadState("networkidle");
  const sizes = await Promise.all(scripts);
  expect(sizes.length).toBeGreaterThan(0);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(110_000);
});
