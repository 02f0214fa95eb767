import { expect, test } from "./desk.ts";

test("the checklist names what is open, with its remedy", async ({ page }) => {
  await page.goto("/_desk/checklist");
  await expect(page.getByRole("heading", { name: "Checklist" })).toBeVisible();
  const item = (title: string) =>
    page.getByRole("listitem").filter({ has: page.getByRole("heading", { name: title }) });
  await expect(item("Recovery codes")).toContainText("Done");
  await expect(item("Files for buyers")).toContainText("Done");
  await expect(item("Mail server")).toContainText("[auth.email.smtp]");
  await expect(item("Public address")).toContainText("http://127.0.0.1:");
  await expect(item("Payment")).toContainText("Professional Newsletter");

  const form = { template: "2", provider: "stripe", delivery: "once", email: "list@example.com" };
  expect((await page.request.post("/_dev/payment/pay", { form })).ok()).toBe(true);
  await page.reload();
  await expect(item("Test order")).toContainText("Done");
});

test("test orders and views during development are counted on request", async ({ page }) => {
  await page.goto("/template/3");
  const form = { template: "3", provider: "stripe", delivery: "once", email: "count@example.com" };
  expect((await page.request.post("/_dev/payment/pay", { form })).ok()).toBe(true);
  await page.goto("/_desk/figures");
  await expect(page.getByText(/^\d+ test orders? .*not counted\.$/)).toBeVisible();
  const purchases = page.getByRole("button", { name: /^Purchases/ });
  await expect(purchases).toHaveText("Purchases0");
  await page.getByLabel("Count tests").check();
  await expect(page).toHaveURL(/tests=included/);
  await expect(purchases).not.toHaveText("Purchases0");
  await expect(page.getByText(/^\d+ test orders? .*(are|is) counted\.$/)).toBeVisible();
});
