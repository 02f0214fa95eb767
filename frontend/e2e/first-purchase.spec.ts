import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { startBasalt } from "./basalt.mjs";
import { expect, mailsTo, test } from "./shop.ts";

test("the shipped configuration sells: buy, open the mail, download, open the mail that was bought", async ({
  page,
  context,
  basalt,
}) => {
  await page.goto("/template/1");
  const opened = context.waitForEvent("page");
  await page.getByRole("link", { name: "Purchase Template - $28" }).click();
  const checkout = await opened;
  await expect(checkout.getByRole("alert")).toHaveCount(0);
  await checkout.getByLabel("E-mail address of the buyer").fill("first@example.com");
  await checkout.getByRole("button", { name: "Pay", exact: true }).click();
  await expect(checkout.getByRole("heading", { name: "Thank you" })).toBeVisible();

  await checkout.goto(basalt.inboxUrl);
  await checkout.getByRole("button", { name: /Your template: Professional Newsletter/ }).click();
  const [mail] = await mailsTo(basalt.inboxUrl, "first@example.com");
  const downloading = checkout.waitForEvent("download");
  await checkout.evaluate((link) => location.assign(link), mail?.link ?? "");
  const download = await downloading;
  expect(download.suggestedFilename()).toBe("01-professional-newsletter.zip");

  const folder = await mkdtemp(join(tmpdir(), "basalt-bought-"));
  const zip = join(folder, "bought.zip");
  await download.saveAs(zip);
  execFileSync("python3", ["-m", "zipfile", "-e", zip, folder]);
  const listed = execFileSync("python3", ["-m", "zipfile", "-l", zip], { encoding: "utf8" });
  const html = listed.match(/^(\S+\.html)\s/m)?.[1] ?? "";
  expect(await readFile(join(folder, html), "utf8")).toContain("<table");
  const reader = await context.newPage();
  await reader.goto(pathToFileURL(join(folder, html)).href);
  await expect(reader.locator("h1").first()).toBeVisible();
  const broken = await reader.evaluate(() =>
    [...document.images].filter((picture) => picture.naturalWidth === 0).map(({ src }) => src),
  );
  expect(broken).toEqual([]);
  await rm(folder, { recursive: true });
});

test("a shop without the files says so before it takes money", async ({ page }) => {
  const basalt = await startBasalt(
    (config) => `${config}\n[basalt.shop.payment]\nproducts = "products"\n`,
    { "products/products.json": '{"products": []}\n' },
  );
  try {
    await page.goto(`${basalt.url}/_dev/payment?template=1`);
    await expect(page.getByRole("alert")).toContainText(
      "would get no file: Professional Newsletter",
    );
    expect(basalt.log()).toContain("buyers of these templates would get no file");
  } finally {
    await basalt.stop();
  }
});
