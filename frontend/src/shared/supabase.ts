import type { SupabaseClient } from "@supabase/supabase-js";
import { readEnv } from "./env.ts";

let client: Promise<SupabaseClient> | undefined;

/**
 * Returns the only client of the page. It is created on first use, because most screens send no
 * requests. A failed load is not stored, so that the next call repeats it.
 */
export function loadClient(): Promise<SupabaseClient> {
  client ??= importAndCreateClient().catch((cause: unknown) => {
    client = undefined;
    throw cause;
  });
  return client;
}

async function importAndCreateClient(): Promise<SupabaseClient> {
  const { createClient } = await import("@supabase/supabase-js");
  const { url, key } = readEnv(document, location.origin);
  return createClient(url, key);
}
