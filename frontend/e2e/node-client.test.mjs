import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createClient } from "@supabase/supabase-js";
import { mailsTo, startBasalt } from "./basalt.mjs";
import { EXPECTED, walk } from "./walk.mjs";

/** @type {import("./basalt.mjs").Basalt} */
let basalt;

before(async () => {
  basalt = await startBasalt();
});

after(() => basalt.stop());

test("the published client works under Node", async () => {
  const seen = await walk({
    createClient,
    url: basalt.url,
    key: basalt.publishableKey,
    address: `node-${Date.now()}@example.com`,
    mailedLink: async (address) => (await mailsTo(basalt.inboxUrl, address))[0]?.link ?? "",
    open: async (link) => {
      const answer = await fetch(link, { redirect: "manual" });
      assert.equal(answer.status, 303);
    },
  });
  assert.deepEqual(seen, EXPECTED);
});
