import { createServer } from "node:http";
import { createServerClient, parseCookieHeader, serializeCookieHeader } from "@supabase/ssr";

/** Returns an HTTP server that renders the address of the signed-in user. */
export function createApp({ url, key, storageKey, WebSocket = globalThis.WebSocket }) {
  return createServer(async (request, response) => {
    const supabase = createServerClient(url, key, {
      // All worlds share a host, from which the name would be derived. In production it is left out.
      ...(storageKey ? { cookieOptions: { name: storageKey } } : {}),
      ...(WebSocket ? {} : { realtime: { transport: class {} } }),
      cookies: {
        getAll: () => parseCookieHeader(request.headers.cookie ?? ""),
        setAll: (cookies) => {
          if (response.headersSent) return;
          for (const { name, value, options } of cookies) {
            response.appendHeader("set-cookie", serializeCookieHeader(name, value, options));
          }
        },
      },
    });
    const { data } = await supabase.auth.getUser();
    response.setHeader("content-type", "text/html; charset=utf-8");
    response.end(data.user ? `<h1>Signed in as ${data.user.email}</h1>` : "<h1>Sign in</h1>");
  });
}
