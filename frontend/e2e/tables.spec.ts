import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { startBasalt } from "./basalt.mjs";
import { appOn, expect, servePages, signedUp, signOut, test } from "./developer.ts";

/** The SQL of the README: a table with a policy, and a policy for files. */
async function readmeMigration(): Promise<string> {
  const readme = await readFile(fileURLToPath(new URL("../../README.md", import.meta.url)), "utf8");
  const blocks = [...readme.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, sql]) => sql);
  expect(blocks.length).toBe(2);
  return blocks.join("\n");
}

test("a page keeps rows and files of the signed-in user, as the README shows", async ({ page }) => {
  const basalt = await startBasalt((config) => `${config}\n[storage.buckets.avatars]\n`, {
    "migrations/20260101000000_readme.sql": await readmeMigration(),
  });
  const pages = await servePages();
  const app = appOn(page, pages.origin, basalt);
  try {
    await app.open("implicit");
    await signedUp(app);
    const kept = await page.evaluate(async () => {
      const { client } = window;
      const inserted = await client.from("todos").insert({ title: "Write a newsletter" });
      const { data } = await client.from("todos").select("id, title").order("id");
      const user = (await client.auth.getUser()).data.user;
      const file = new Blob(["a picture"], { type: "image/png" });
      const path = `${user?.id}/face.png`;
      const stored = await client.storage.from("avatars").upload(path, file, { upsert: true });
      const signed = await client.storage.from("avatars").createSignedUrl(path, 3600);
      const picture = await (await fetch(signed.data?.signedUrl ?? "")).text();
      return { path, errors: [inserted.error, stored.error, signed.error], data, picture };
    });
    expect(kept).toMatchObject({
      errors: [null, null, null],
      data: [{ id: 1, title: "Write a newsletter" }],
      picture: "a picture",
    });

    await signOut(app);
    await signedUp(app);
    const seen = await page.evaluate(async (path) => {
      const { client } = window;
      return {
        rows: (await client.from("todos").select()).data,
        changed: (await client.from("todos").update({ title: "x" }).eq("id", 1).select()).data,
        file: (await client.storage.from("avatars").download(path)).error?.message,
      };
    }, kept.path);
    expect(seen).toEqual({ rows: [], changed: [], file: "Object not found" });
  } finally {
    pages.close();
    await basalt.stop();
  }
});
