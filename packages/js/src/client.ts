import { createRequire } from "node:module";
import type { SupabaseClient, SupabaseClientOptions } from "@supabase/supabase-js";

import { BasaltError } from "./error.js";

const require = createRequire(import.meta.url);

/** Options of `createClient`, which are merged with those of the world. */
export type ClientOptions = SupabaseClientOptions<"public">;

/** Stands in for the WebSocket that older versions of Node lack: clients can be created, channels cannot be opened. */
class MissingWebSocket {
  constructor() {
    throw new BasaltError(
      "websocket_missing",
      "this version of Node has no WebSocket",
      "use Node 22, or give realtime: { transport } with the package ws",
    );
  }
}

/** Creates a client of supabase-js for a world. It refreshes no tokens by itself: a test decides when. */
export function createWorldClient(
  url: string,
  key: string,
  storageKey: string,
  options: ClientOptions = {},
): SupabaseClient {
  const { createClient } = loadSupabase();
  const transport = MissingWebSocket as unknown as typeof WebSocket;
  const realtime = typeof WebSocket === "undefined" ? { transport } : {};
  return createClient(url, key, {
    ...options,
    auth: {
      autoRefreshToken: false,
      detectSessionInUrl: false,
      storageKey,
      ...options.auth,
    },
    realtime: { ...realtime, ...options.realtime },
  });
}

function loadSupabase(): typeof import("@supabase/supabase-js") {
  try {
    return require("@supabase/supabase-js");
  } catch (cause) {
    throw new BasaltError(
      "supabase_js_missing",
      "@supabase/supabase-js is not installed",
      "npm install --save-dev @supabase/supabase-js",
      undefined,
      { cause },
    );
  }
}
