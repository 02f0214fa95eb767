import { paths } from "../src/shared/paths.ts";
import { findViolations } from "./axe.ts";
import { startBasalt } from "./basalt.mjs";
import { consoleErrors, expect, mailsTo, openWithScript, test } from "./shop.ts";

const DETAILS = { name: "DETAILS:" };

test("is a form with the specified texts", async ({ page }) => {
  await page.goto(paths.submission);
  await expect(page).toHaveTitle("Submit your details");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Submit Your Details");
  await expect(page.getByRole("heading", { level: 2 })).toHaveText("Submission");
  await expect(page.getByText("Complete the form to send us your details.")).toBeVisible();
  await expect(page.getByRole("textbox", DETAILS)).toHaveAttribute(
    "placeholder",
    "Enter your details here...",
  );
});

test("sends the details, shows the confirmation and mails one", async ({ page, basalt }) => {
  const address = `visitor-${Date.now()}@example.com`;
  await openWithScript(page, paths.submission);
  await page
    .getByRole("textbox", DETAILS)
    .fill(`We open in May and need an invitation. Write to ${address}`);
  await page.getByRole("button", { name: "Submit Now" }).click();
  const heading = page.getByRole("heading", { name: "Submission Received!" });
  await expect(heading).toBeFocused();
  await expect(
    page.getByText(
      "Thank you for your submission. We have successfully received your details and will send you a confirmation email.",
    ),
  ).toBeVisible();
  await expect(page.getByRole("textbox")).toHaveCount(0);
  expect(await mailsTo(basalt.inboxUrl, address)).toHaveLength(1);

  await page.reload();
  await expect(page.getByRole("textbox", DETAILS)).toHaveValue("");
});

test("marks that a confirmation goes to the only address in the text", async ({ page }) => {
  await openWithScript(page, paths.submission);
  const field = page.getByRole("textbox", DETAILS);
  const mark = page.locator("form svg.lucide-mail-check");
  const height = async () => (await field.boundingBox())?.y;
  const before = await height();
  await field.fill("A card for spring, please");
  await expect(mark).toHaveCount(0);
  await field.pressSequentially(" to Ada@example.com");
  await expect(mark).toBeVisible();
  await expect(page.getByText("A confirmation email goes to Ada@example.com")).toHaveClass(
    "sr-only",
  );
  expect(await height()).toBe(before);
  expect(await findViolations(page)).toEqual([]);
  await field.pressSequentially(" or bob@example.com");
  await expect(mark).toHaveCount(0);
  await expect(page.getByText("A confirmation email goes to")).toHaveCount(0);
});

test("sends once when the button is pressed twice", async ({ page, basalt }) => {
  const address = `hasty-${Date.now()}@example.com`;
  const requests: string[] = [];
  page.on("request", (request) => {
    if (request.method() === "POST") requests.push(request.headers()["idempotency-key"] ?? "");
  });
  await openWithScript(page, paths.submission);
  await page.getByRole("textbox", DETAILS).fill(`Please call ${address}`);
  await page.getByRole("button", { name: "Submit Now" }).dblclick();
  await expect(page.getByRole("heading", { name: "Submission Received!" })).toBeVisible();
  expect(requests).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)]);
  expect(await mailsTo(basalt.inboxUrl, address)).toHaveLength(1);
});

test("shows that it is sending, with a disabled button", async ({ page }) => {
  await openWithScript(page, paths.submission);
  await page.route("**/functions/v1/send-submission", async (route) => {
    await expect(page.getByRole("button", { name: "Submitting..." })).toBeDisabled();
    await route.continue();
  });
  await page.getByRole("textbox", DETAILS).fill("A holiday card with our whole team on it");
  await page.getByRole("button", { name: "Submit Now" }).click();
  await expect(page.getByRole("heading", { name: "Submission Received!" })).toBeVisible();
});

for (const [what, text, message] of [
  ["nothing", "", "Details are required"],
  ["white space", " \n\u3000\u0085 ", "Details are required"],
  ["1001 characters", "😀".repeat(1001), "Details must be less than 1000 characters"],
] as const) {
  test(`refuses ${what} and moves the focus to the field`, async ({ page }) => {
    const sent: string[] = [];
    page.on("request", (request) => {
      if (request.method() === "POST") sent.push(request.url());
    });
    await openWithScript(page, paths.submission);
    const field = page.getByRole("textbox", DETAILS);
    await field.fill(text);
    await page.getByRole("button", { name: "Submit Now" }).click();
    await expect(field).toBeFocused();
    await expect(field).toHaveAttribute("aria-invalid", "true");
    await expect(field).toHaveAccessibleDescription(new RegExp(`^${message}`));
    await expect(page.getByText(message)).toBeVisible();
    expect(sent).toEqual([]);

    await field.press("End");
    await field.fill("Better");
    await expect(page.getByText(message)).toHaveCount(0);
  });
}

test("shows the length from 900 characters", async ({ page }) => {
  await openWithScript(page, paths.submission);
  const field = page.getByRole("textbox", DETAILS);
  await field.fill("a".repeat(899));
  await expect(page.getByText("/ 1000")).toHaveCount(0);
  await field.fill("a".repeat(960));
  await expect(page.getByText("960 / 1000")).toBeVisible();
  await expect(page.getByRole("status")).toHaveText("950 of 1000 characters used");
});

test("keeps the text over a reload", async ({ page }) => {
  await openWithScript(page, paths.submission);
  await page.getByRole("textbox", DETAILS).fill("Half a thought about a newsletter");
  await page.reload();
  await expect(page.getByRole("textbox", DETAILS)).toHaveValue("Half a thought about a newsletter");
});

test("only logs that the server refuses", async ({ page }) => {
  const errors = consoleErrors(page);
  await openWithScript(page, paths.submission);
  const field = page.getByRole("textbox", DETAILS);
  await field.fill("a NUL character \u0000 is text to the page");
  await page.getByRole("button", { name: "Submit Now" }).click();
  await expect.poll(() => errors.join()).toMatch(/Submission failed: 400 \{.*\}/);
  await expectUntouched(page);
});

test("only logs that the server cannot be reached, and can retry", async ({ page }) => {
  const errors = consoleErrors(page);
  const keys: string[] = [];
  page.on("request", (request) => {
    if (request.method() === "POST") keys.push(request.headers()["idempotency-key"] ?? "");
  });
  const basalt = await startBasalt();
  // The program loads the client of the API as soon as it starts.
  const client = page.waitForEvent("requestfinished", (request) =>
    /\/assets\/dist-[^/]+\.js$/.test(request.url()),
  );
  await openWithScript(page, `${basalt.url}${paths.submission}`);
  await page.getByRole("textbox", DETAILS).fill("A survey for our guests");
  await client;
  await basalt.stop();
  for (const attempt of [1, 2]) {
    await page.getByRole("button", { name: "Submit Now" }).click();
    await expect
      .poll(() => errors.filter((error) => error.includes("Submission failed")))
      .toHaveLength(attempt);
    await expectUntouched(page);
  }
  expect(new Set(keys).size).toBe(1);
});

test("gives the focus back to the button after a failure", async ({ page }) => {
  await openWithScript(page, paths.submission);
  await page.route("**/functions/v1/send-submission", (route) => route.abort());
  await page.getByRole("textbox", DETAILS).fill("A survey for our guests");
  await page.getByRole("textbox", DETAILS).press("Tab");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("button", { name: "Submit Now" })).toBeFocused();
});

test("names the template of the address in the mail to the owner", async ({ page, basalt }) => {
  await page.goto(paths.template(9));
  await page.getByRole("link", { name: /^Request Custom Design - / }).click();
  const mark = `Ours in blue, ${Date.now()}`;
  await page.getByRole("textbox", DETAILS).fill(mark);
  await page.getByRole("button", { name: "Submit Now" }).click();
  await expect(page.getByRole("heading", { name: "Submission Received!" })).toBeVisible();
  await expect
    .poll(async () =>
      (await mailsTo(basalt.inboxUrl, "owner@example.com")).map((mail) => mail.text),
    )
    .toContainEqual(
      expect.stringMatching(`${mark}[^]*It is about template 9, Executive Report\\.`),
    );
});

/** Expects the unchanged form without a message. */
async function expectUntouched(page: import("@playwright/test").Page): Promise<void> {
  const field = page.getByRole("textbox", DETAILS);
  await expect(page.getByRole("button", { name: "Submit Now" })).toBeEnabled();
  await expect(field).not.toHaveValue("");
  await expect(field).toHaveAttribute("aria-invalid", "false");
  await expect(page.getByRole("alert")).toHaveCount(0);
  await expect(page.getByRole("main")).not.toContainText(/fail|error|wrong/i);
}
