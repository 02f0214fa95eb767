import type { SupabaseClient } from "@supabase/supabase-js";
import { readEnv } from "./env.ts";

let connection: Promise<SupabaseClient> | undefined;

/**
 * The one client of the page, made on first use so that screens that never talk to the server do not
 * load it. A failed load is forgotten, so that the next call tries again.
 */
export function connect(): Promise<SupabaseClient> {
  connection ??= load().catch((cause: unknown) => {
    connection = undefined;
    throw cause;
  });
  return connection;
}

async function load(): Promise<SupabaseClient> {
  const { createClient } = await import("@supabase/supabase-js");
  const { url, key } = readEnv(document, location.origin);
  return createClient(url, key);
}
