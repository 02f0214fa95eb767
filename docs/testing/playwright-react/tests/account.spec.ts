import { expect, test } from "@basalt/test/playwright";

test("a user signs in with a mailed code", async ({ page, world }) => {
  await page.goto("/");
  await page.getByLabel("E-mail").fill("ann@example.com");
  await page.getByRole("button", { name: "Send code" }).click();
  const { code } = await world.messages.wait("ann@example.com");
  await page.getByLabel("Code").fill(code ?? "");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("heading")).toHaveText("Signed in as ann@example.com");
});

test("a session lasts longer than its first access token", async ({ signedInPage, world }) => {
  const { page, user } = signedInPage;
  await page.clock.install();
  await page.goto("/");
  await expect(page.getByRole("heading")).toHaveText(`Signed in as ${user.email}`);
  // The clocks of the server and of the browser.
  await world.clock.advance("61m", { page });
  await page.getByRole("button", { name: "Check" }).click();
  await expect(page.getByRole("status")).toHaveText(`The server knows ${user.email}`);
});

test("a sign-out is remembered", async ({ signedInPage }) => {
  const { page } = signedInPage;
  await page.goto("/");
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByRole("heading")).toHaveText("Sign in");
  await page.reload();
  await expect(page.getByRole("heading")).toHaveText("Sign in");
});

test("an overloaded server is reported", async ({ page, world }) => {
  await world.faults.add({ match: { path: "/auth/v1/otp*" }, do: { status: 503 } });
  await page.goto("/");
  await page.getByLabel("E-mail").fill("ann@example.com");
  await page.getByRole("button", { name: "Send code" }).click();
  await expect(page.getByRole("alert")).not.toBeEmpty();
});
