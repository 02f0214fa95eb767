// supabase-js, unmodified, against the storage API: the example of the README.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createClient } from "@supabase/supabase-js";
import { startBasalt } from "./basalt.mjs";

const MIGRATION = `
insert into storage.buckets (id, name, public) values ('avatars', 'avatars', true), ('papers', 'papers', false);
create policy "own folder" on storage.objects for all to authenticated
  using ((storage.foldername(name))[1] = (select auth.uid())::text)
  with check ((storage.foldername(name))[1] = (select auth.uid())::text);`;
const PASSWORD = "a long password 1";

/** @type {import("./basalt.mjs").Basalt} */
let basalt;

before(async () => {
  basalt = await startBasalt((config) => config, {
    "migrations/20260101000000_storage.sql": MIGRATION,
  });
});

after(() => basalt.stop());

/** @param {string} email */
async function signIn(email) {
  const admin = createClient(basalt.url, basalt.secretKey);
  const { data } = await admin.auth.admin.createUser({
    email,
    password: PASSWORD,
    email_confirm: true,
  });
  const client = createClient(basalt.url, basalt.publishableKey);
  const { error } = await client.auth.signInWithPassword({ email, password: PASSWORD });
  assert.equal(error, null);
  const id = data.user?.id;
  assert.ok(id);
  return { client, id };
}

test("files are uploaded, read, listed, moved and removed under policies", async () => {
  const [ann, bob] = [await signIn("ann@example.com"), await signIn("bob@example.com")];
  const avatars = ann.client.storage.from("avatars");
  const path = `${ann.id}/face.png`;
  const picture = new Blob(["picture"], { type: "image/png" });
  const uploaded = await avatars.upload(path, picture, { cacheControl: "60" });
  assert.equal(uploaded.error, null);
  assert.equal(uploaded.data?.path, path);
  const refused = await bob.client.storage.from("avatars").upload(`${ann.id}/other.png`, picture);
  assert.equal(refused.error?.message, "new row violates row-level security policy");
  const shown = await fetch(avatars.getPublicUrl(path).data.publicUrl);
  assert.equal(await shown.text(), "picture");
  assert.equal(shown.headers.get("cache-control"), "max-age=60");
  assert.equal((await avatars.upload(path, picture)).error?.message, "The resource already exists");
  assert.equal((await avatars.upload(path, new Blob(["second"]), { upsert: true })).error, null);
  assert.equal(await (await avatars.download(path)).data?.text(), "second");
  assert.deepEqual(
    (await avatars.list(ann.id)).data?.map((file) => file.name),
    ["face.png"],
  );
  assert.equal((await avatars.exists(path)).data, true);
  assert.equal((await avatars.move(path, `${ann.id}/moved.png`)).error, null);
  assert.equal((await avatars.info(`${ann.id}/moved.png`)).data?.size, 6);
  const removed = await avatars.remove([`${ann.id}/moved.png`]);
  assert.deepEqual(
    removed.data?.map((file) => file.name),
    [`${ann.id}/moved.png`],
  );
});

test("signed URLs read and write one object", async () => {
  const { client, id } = await signIn("cleo@example.com");
  const papers = client.storage.from("papers");
  const path = `${id}/letter.txt`;
  const signed = await papers.createSignedUploadUrl(path);
  assert.equal(signed.error, null);
  const anonymous = createClient(basalt.url, basalt.publishableKey).storage.from("papers");
  const written = await anonymous.uploadToSignedUrl(
    path,
    signed.data?.token ?? "",
    new Blob(["dear"]),
  );
  assert.equal(written.error, null);
  assert.notEqual((await anonymous.download(path)).error, null);
  const link = await papers.createSignedUrl(path, 60, { download: "a letter.txt" });
  const read = await fetch(link.data?.signedUrl ?? "");
  assert.equal(await read.text(), "dear");
  assert.match(
    read.headers.get("content-disposition") ?? "",
    /^attachment; filename=a%20letter\.txt;/,
  );
});
