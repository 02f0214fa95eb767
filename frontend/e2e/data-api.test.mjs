// supabase-js, unmodified, against the data API: the example of the README.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createClient } from "@supabase/supabase-js";
import { startBasalt } from "./basalt.mjs";

const MIGRATION = `
create table todos (id bigint primary key generated always as identity, title text, owner uuid default auth.uid());
alter table todos enable row level security;
create policy own on todos to authenticated using (owner = (select auth.uid())) with check (owner = (select auth.uid()));
create table notes (id bigint primary key generated always as identity, text text, todo bigint references todos);
create function shout(word text) returns text language sql immutable as $$ select upper(word) $$;`;
const PASSWORD = "a long password 1";

/** @type {import("./basalt.mjs").Basalt} */
let basalt;

before(async () => {
  basalt = await startBasalt((config) => config, {
    "migrations/20260101000000_todos.sql": MIGRATION,
  });
});

after(() => basalt.stop());

/** @param {string} email */
async function signIn(email) {
  const admin = createClient(basalt.url, basalt.secretKey);
  await admin.auth.admin.createUser({ email, password: PASSWORD, email_confirm: true });
  const client = createClient(basalt.url, basalt.publishableKey);
  const { error } = await client.auth.signInWithPassword({ email, password: PASSWORD });
  assert.equal(error, null);
  return client;
}

test("rows are created, read, changed and deleted under policies", async () => {
  const [ann, bob] = [await signIn("ann@example.com"), await signIn("bob@example.com")];
  const created = await ann.from("todos").insert({ title: "first" }).select().single();
  assert.equal(created.error, null);
  assert.equal(created.data.title, "first");
  const { id } = created.data;
  assert.deepEqual((await bob.from("todos").select()).data, []);
  assert.deepEqual((await bob.from("todos").update({ title: "x" }).eq("id", id).select()).data, []);
  const anonymous = createClient(basalt.url, basalt.publishableKey);
  const refused = await anonymous.from("todos").insert({ title: "x" });
  assert.equal(refused.error?.code, "42501");
  const changed = await ann.from("todos").update({ title: "second" }).eq("id", id).select("title");
  assert.deepEqual(changed.data, [{ title: "second" }]);
  await ann.from("notes").insert([
    { text: "a", todo: id },
    { text: "b", todo: id },
  ]);
  const embedded = await ann
    .from("todos")
    .select("title, notes(text)")
    .eq("id", id)
    .order("id")
    .maybeSingle();
  assert.deepEqual(embedded.data, { title: "second", notes: [{ text: "a" }, { text: "b" }] });
  const counted = await ann.from("notes").select("*", { count: "exact", head: true });
  assert.equal(counted.count, 2);
  assert.equal((await ann.rpc("shout", { word: "hi" })).data, "HI");
  await ann.from("notes").delete().eq("todo", id);
  assert.equal((await ann.from("todos").delete().eq("id", id)).error, null);
  assert.deepEqual((await ann.from("todos").select()).data, []);
});

test("errors are those that supabase-js knows", async () => {
  const client = createClient(basalt.url, basalt.secretKey);
  const missing = await client.from("nothing").select();
  assert.equal(missing.error?.code, "PGRST205");
  const none = await client.from("todos").select().eq("id", 999).single();
  assert.equal(none.error?.code, "PGRST116");
});
