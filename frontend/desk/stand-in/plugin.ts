import type { IncomingMessage, ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import type { Connect, Plugin } from "vite";
import { answer } from "./api.ts";

/** Milliseconds before an answer, so that the states of loading are visible. */
const DELAY = Number(process.env.DESK_DELAY ?? 250);

/** The policy of the server's pages, for `vite preview`. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Serves a stand-in of the API beside the development server. It is no part of a build. */
export function standIn(): Plugin {
  return {
    name: "stand-in",
    configureServer: (server) => {
      server.middlewares.use("/_desk/api", handle);
    },
    configurePreviewServer: (server) => {
      server.middlewares.use("/_desk/api", handle);
      server.middlewares.use((_, response, next) => {
        response.setHeader("content-security-policy", POLICY);
        next();
      });
    },
  };
}

const handle: Connect.NextHandleFunction = async (
  request: IncomingMessage & { originalUrl?: string | undefined },
  response: ServerResponse,
) => {
  const { method = "GET" } = request;
  const hasBody = method !== "GET" && request.headers["content-type"] !== undefined;
  const body = hasBody ? ((await json(request)) as Record<string, unknown>) : {};
  const url = new URL(request.originalUrl ?? "", "http://localhost");
  await new Promise((resolve) => setTimeout(resolve, DELAY));
  const { status, content, headers = {} } = answer({ method, url, body });
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(content === undefined ? undefined : JSON.stringify(content));
};
