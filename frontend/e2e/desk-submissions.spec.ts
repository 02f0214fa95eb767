import { readFile } from "node:fs/promises";
import type { Page } from "@playwright/test";
import { expect, mailsTo, test } from "./desk.ts";

/** Sends a request by the form of the shop. */
async function submit(page: Page, text: string): Promise<void> {
  await page.goto("/submit?template=9");
  await page.getByRole("textbox", { name: "DETAILS:" }).fill(text);
  // The form asks for a moment: faster ones are taken for those of programs.
  await page.waitForTimeout(3_500);
  await page.getByRole("button", { name: "Submit Now" }).click();
  await expect(page.getByRole("heading", { name: "Submission Received!" })).toBeVisible();
}

test("a submission is found, noted, answered and deleted", async ({ page, basalt }) => {
  const sender = `ada-${Date.now()}@example.com`;
  await submit(page, `A report in blue, please.\nWrite to ${sender}`);
  await page.goto(`/_desk/submissions?search=report`);
  await page.getByRole("link", { name: sender }).click();
  await expect(page.getByRole("heading", { name: sender })).toBeFocused();

  await page.getByRole("button", { name: "Note for yourself" }).click();
  await page.getByLabel("Note", { exact: true }).fill("Called back.");
  await page.getByRole("button", { name: "Add note" }).click();
  await expect(page.getByText("The note is added.")).toBeVisible();
  await expect(page.getByRole("listitem").filter({ hasText: "Called back." })).toBeVisible();

  await page.getByRole("heading", { name: sender }).focus();
  await page.keyboard.press("r");
  await expect(page.getByLabel("Text")).toBeFocused();
  await page.getByRole("button", { name: "Send reply" }).click();
  await expect(page.getByText("Write a text.")).toBeVisible();
  await page.getByLabel("Text").fill("Blue it is.");
  await page.getByRole("button", { name: "Send reply" }).click();
  await expect(page.getByText(`Your reply to ${sender} is on its way.`)).toBeVisible();
  const answered = page.getByRole("button", { name: "Answered", exact: true });
  await expect(answered).toHaveAttribute("aria-pressed", "true");
  await expect(async () => {
    const mails = await mailsTo(basalt.inboxUrl, sender);
    const reply = mails.find(({ text }) => text.includes("Blue it is."));
    expect(reply?.text).toContain("> A report in blue, please.");
  }).toPass();

  await page.getByRole("heading", { name: sender }).focus();
  await page.keyboard.press("e");
  await expect(page.getByText("Marked as closed.")).toBeVisible();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(answered).toHaveAttribute("aria-pressed", "true");

  await page.getByRole("button", { name: "Delete the submission" }).click();
  await page.getByRole("button", { name: "Delete submission", exact: true }).click();
  await expect(page.getByText("1 submission deleted.")).toBeVisible();
  await page.goto("/_desk/submissions?status=all&search=report");
  await expect(page.getByText("Nothing matches")).toBeVisible();
});

test("submissions are selected, exported and deleted together", async ({ page }) => {
  const word = `w${Date.now()}`;
  for (const name of ["one", "two"]) await submit(page, `${word} ${name}: ${name}@example.com`);
  await page.goto(`/_desk/submissions?status=all&search=${word}`);
  await expect(page.getByRole("checkbox")).toHaveCount(2);

  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await expect(page.getByRole("link", { name: /one@/ })).toBeFocused();
  await page.keyboard.press("k");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "two@example.com" })).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("link", { name: /two@/ })).toBeFocused();

  await page.getByRole("button", { name: "Export" }).click();
  const downloading = page.waitForEvent("download");
  await page.getByRole("button", { name: "CSV for a spreadsheet" }).click();
  const file = await readFile(await (await downloading).path(), "utf8");
  expect(file).toContain(`${word} one`);
  expect(file).toContain(`${word} two`);

  await page.getByRole("checkbox").first().check();
  await page.getByRole("button", { name: "All 2" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("button", { name: "Delete 2 submissions" }).click();
  await expect(page.getByText("2 submissions deleted.")).toBeVisible();
  await expect(page.getByText("Nothing matches")).toBeVisible();
});
