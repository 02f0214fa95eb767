import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { findViolations } from "./axe.ts";
import { startBasalt } from "./basalt.mjs";
import { test as deskTest, expect } from "./desk.ts";
import { mailsTo } from "./shop.ts";

/** A binary of its own: the added template stays, and other tests count them. */
const test = deskTest.extend({
  basalt: [
    async ({ browserName: _ }, use) => {
      const basalt = await startBasalt();
      await use(basalt);
      await basalt.stop();
    },
    { scope: "worker", timeout: 180_000 },
  ],
});

test.use({ contextOptions: { reducedMotion: "reduce" } });

const PICTURE = fileURLToPath(new URL("../public/icon-192.png", import.meta.url));

/** A ZIP archive of one empty file with the name `a`. */
function archive(): Buffer {
  const head = Buffer.alloc(31);
  head.write("PK\x03\x04", "latin1");
  head.writeUInt16LE(1, 26);
  head.write("a", 30);
  const entry = Buffer.alloc(47);
  entry.write("PK\x01\x02", "latin1");
  entry.writeUInt16LE(1, 28);
  entry.write("a", 46);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(entry.length, 12);
  end.writeUInt32LE(head.length, 16);
  return Buffer.concat([head, entry, end]);
}

test("a template is added with picture and file, bought and downloaded", async ({
  page,
  basalt,
}) => {
  await page.goto("/_desk/catalogue");
  await page.getByRole("link", { name: "Add template" }).click();
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route("**/catalogue/pictures", async (route) => {
    await released;
    await route.continue();
  });
  await page.getByLabel("Choose: Picture").setInputFiles(PICTURE);
  await expect(page.getByText("Uploading…")).toBeVisible();
  await page.getByLabel("Title").fill("Wedding Letter");
  await page.getByLabel("Category").fill("Weddings");
  await page.getByLabel("Price").fill("$12");
  await page.getByLabel("Summary").fill("For guests.");
  await page.getByLabel("Description", { exact: true }).fill("A letter for guests.");
  await page.getByLabel("Features").fill("One\nTwo\nThree\nFour\nFive");
  await page.getByLabel("Payment link").fill("https://payments.example/placeholder/wedding");
  release();
  await expect(page.getByText("icon-192.png")).toBeVisible();
  const file = archive();
  await page
    .getByLabel("Choose: File for buyers")
    .setInputFiles({ name: "letters.zip", mimeType: "application/zip", buffer: file });
  await expect(page.getByText("letters.zip, 1 kB")).toBeVisible();
  await page.getByRole("button", { name: "Add template" }).click();
  await expect(page.getByLabel("Description of the picture")).toBeFocused();
  await page.getByLabel("Description of the picture").fill("The letter");
  expect(await findViolations(page)).toEqual([]);
  await page.getByRole("button", { name: "Add template" }).click();
  await expect(page.getByRole("heading", { name: "Wedding Letter" })).toBeVisible();
  const address = new URL(page.url()).pathname.split("/").at(-1);
  expect((await page.request.get(`/template/${address}`)).status()).toBe(404);

  await page.getByLabel("Visible in the shop").check();
  await page.getByRole("button", { name: "Save changes" }).click();
  await expect(page.getByText("Saved. The shop shows it now.")).toBeVisible();
  expect(await findViolations(page)).toEqual([]);

  await page.goto(`/template/${address}`);
  await expect(page.getByRole("img", { name: "The letter" }).first()).toBeVisible();
  const opening = page.waitForEvent("popup");
  await page.getByRole("link", { name: /Purchase Template - \$12/ }).click();
  const payment = await opening;
  await payment.getByLabel("E-mail address of the buyer").fill("guest@example.com");
  await payment.getByRole("button", { name: "Pay", exact: true }).click();
  await expect(payment).toHaveURL(/thank-you/);
  const [mail] = await mailsTo(basalt.inboxUrl, "guest@example.com");
  const downloading = page.waitForEvent("download");
  await page.evaluate((link) => location.assign(link), mail?.link ?? "");
  const download = await downloading;
  expect(download.suggestedFilename()).toBe("letters.zip");
  expect((await readFile(await download.path())).equals(file)).toBe(true);
});
