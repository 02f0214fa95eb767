import type { Page } from "@playwright/test";
import { codeOf } from "./authenticators.ts";
import { expect, setUp, setupTest as test } from "./desk.ts";

const PASSWORD = "a long sentence for the desk 7";
const NEW_PASSWORD = "another long sentence 8";

/** Signs in by password; the next screen asks for the code. */
async function enterPassword(page: Page, email: string, password: string): Promise<void> {
  await page.getByRole("textbox", { name: "Email address" }).fill(email);
  await page.getByRole("textbox", { name: "Password" }).fill(password);
  await page.getByRole("button", { name: "Continue" }).click();
}

/** Returns the secret of the authenticator app that is shown. */
async function readSecret(page: Page): Promise<string> {
  await expect(page.getByRole("img", { name: /QR code/ })).toBeVisible();
  return (await page.locator("code").first().textContent())?.replaceAll(/\s/g, "") ?? "";
}

test("the operator's command lets an owner in who has lost everything", async ({ page, empty }) => {
  const owner = await setUp(page, empty.deskSetupUrl);
  await page.context().clearCookies();
  const printed = (await empty.run("desk", "reset", owner.email)).trim();
  expect(printed).toMatch(/\/_desk\/#reset=[\w-]{43}$/);
  await expect(empty.run("desk", "reset", "nobody@example.com")).rejects.toThrow(/no owner/);

  await page.goto("about:blank");
  await page.goto(`/_desk/#reset=${printed.split("#reset=")[1]}`);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Choose a new password");
  await page.getByLabel("New password").fill("short");
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page.getByRole("alert")).toBeVisible();
  await page.getByLabel("New password").fill(NEW_PASSWORD);
  await page.getByRole("button", { name: "Continue" }).click();
  const secret = await readSecret(page);
  expect(secret).not.toBe(owner.secret);
  await page.getByLabel("Code of the authenticator app").fill(codeOf(secret));
  await page.getByRole("button", { name: "Confirm" }).click();
  await expect(page.getByRole("list", { name: "Recovery codes" })).toBeVisible();
  await page.getByRole("button", { name: "I have kept the codes" }).click();
  await page.getByRole("button", { name: "Not now" }).click();
  await expect(page.getByRole("heading", { name: "Submissions" })).toBeVisible();

  await page.context().clearCookies();
  await page.goto("about:blank");
  await page.goto(`/_desk/#reset=${printed.split("#reset=")[1]}`);
  await page.getByLabel("New password").fill(NEW_PASSWORD);
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page.getByRole("alert")).toContainText("The link is not valid");
  await page.getByRole("button", { name: "Sign in instead" }).click();
  await enterPassword(page, owner.email, PASSWORD);
  await expect(page.getByRole("alert")).toContainText("The sign-in is not valid");
  await enterPassword(page, owner.email, NEW_PASSWORD);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Enter the code");
});

test("password, address and authenticator are changed with the present password", async ({
  page,
  empty,
}) => {
  const owner = await setUp(page, empty.deskSetupUrl);
  await page.goto("/_desk/account");
  await page.getByRole("button", { name: "Change: Password" }).click();
  await page.getByLabel("New password").fill(NEW_PASSWORD);
  await page.getByLabel("Present password").fill("wrong");
  await page.getByRole("button", { name: "Change password" }).click();
  await expect(page.getByRole("alert")).toContainText("The password is not right");
  await page.getByLabel("Present password").fill(PASSWORD);
  await page.getByRole("button", { name: "Change password" }).click();
  await expect(page.getByText("The password is changed.")).toBeVisible();

  await page.getByRole("button", { name: "Change: Email address" }).click();
  await page.getByLabel("New email address").fill(`new-${owner.email}`);
  await page.getByLabel("Present password").fill(NEW_PASSWORD);
  await page.getByRole("button", { name: "Change address" }).click();
  await expect(page.getByText("The address is changed.")).toBeVisible();
  await expect(
    page.getByRole("definition").filter({ hasText: `new-${owner.email}` }),
  ).toBeVisible();

  await page.getByRole("button", { name: "Change: Authenticator app" }).click();
  await page.getByLabel("Present password").fill(NEW_PASSWORD);
  await page.getByRole("button", { name: "Continue" }).click();
  const secret = await readSecret(page);
  await page.getByLabel("Code of the authenticator app").fill(codeOf(secret));
  await page.getByRole("button", { name: "Confirm" }).click();
  await expect(page.getByText("The new authenticator app is connected.")).toBeVisible();

  await page.getByRole("button", { name: "Make new codes" }).click();
  await expect(
    page.getByRole("list", { name: "Recovery codes" }).getByRole("listitem"),
  ).toHaveCount(10);

  await page.context().clearCookies();
  await page.goto("/_desk/account");
  await enterPassword(page, `new-${owner.email}`, NEW_PASSWORD);
  await page.getByLabel("Code of the authenticator app").fill(codeOf(secret, 1));
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Account");
});

test("another owner is added by a link, ends other sessions and is removed", async ({
  page,
  browser,
  empty,
}) => {
  await setUp(page, empty.deskSetupUrl);
  await page.goto("/_desk/account");
  await page.getByRole("button", { name: "Add an owner" }).click();
  await page
    .getByRole("dialog")
    .getByRole("textbox", { name: "Email address" })
    .fill("partner@example.com");
  await page.getByLabel("Present password").fill(PASSWORD);
  await page.getByRole("button", { name: "Add owner" }).click();
  const link = (await page.getByRole("status").locator("code").textContent()) ?? "";
  expect(link).toContain("/_desk/#invite=");

  const partner = await (await browser.newContext()).newPage();
  await partner.goto(link);
  await expect(partner.getByRole("heading", { level: 1 })).toHaveText("Welcome to the desk");
  await partner.getByLabel("New password").fill(NEW_PASSWORD);
  await partner.getByRole("button", { name: "Continue" }).click();
  const secret = await readSecret(partner);
  await partner.getByLabel("Code of the authenticator app").fill(codeOf(secret));
  await partner.getByRole("button", { name: "Confirm" }).click();
  await partner.getByRole("button", { name: "I have kept the codes" }).click();
  await partner.getByRole("button", { name: "Not now" }).click();
  await expect(partner.getByRole("heading", { name: "Submissions" })).toBeVisible();

  await page.getByRole("button", { name: "Remove the owner partner@example.com" }).click();
  await page.getByLabel("Present password").fill(PASSWORD);
  await page.getByRole("button", { name: "Remove owner", exact: true }).click();
  await expect(page.getByText("The owner is removed.")).toBeVisible();
  const activity = page.getByRole("list", { name: "Activity" }).getByRole("listitem");
  await expect(activity.first()).toContainText("Removed an owner: partner@example.com");
  await expect(activity.filter({ hasText: "Added an owner: partner@example.com" })).toHaveCount(1);
  await expect(activity.last()).toContainText("Set up the desk");
  await partner.reload();
  await expect(partner.getByRole("heading", { level: 1 })).toHaveText("Sign in to the desk");
  await partner.context().close();
});
