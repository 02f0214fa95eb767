// GoTrue's server on a database and a mailbox of a test server, with a GitHub of its own.
import { execFileSync, spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "./processes.mjs";

const SECRET = "a-secret-of-at-least-thirty-two-characters";
const BOOTSTRAP = fileURLToPath(
  new URL("../../../tests/recordings/bootstrap.sql", import.meta.url),
);

/**
 * @param {string} url
 * @param {string[]} args
 */
function psql(url, ...args) {
  execFileSync("psql", ["-X", "-q", "-v", "ON_ERROR_STOP=1", url, ...args], {
    stdio: ["ignore", "ignore", "inherit"],
  });
}

/**
 * Creates a database with the roles that the server expects.
 *
 * @param {string} administrator
 */
function createDatabase(administrator) {
  const name = `reference_${process.pid}`;
  psql(administrator, "-c", `CREATE DATABASE ${name} TEMPLATE template0`);
  const url = new URL(administrator);
  url.pathname = `/${name}`;
  psql(url.href, "-f", BOOTSTRAP);
  psql(
    url.href,
    "-c",
    "CREATE ROLE reference SUPERUSER LOGIN PASSWORD 'root'; ALTER ROLE reference SET search_path = 'auth'",
  );
  url.username = "reference";
  url.password = "root";
  return url.href.replace("postgresql://", "postgres://");
}

/** A GitHub with one user. */
async function startGithub() {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    if (url.pathname === "/login/oauth/authorize") {
      const target = new URL(url.searchParams.get("redirect_uri") ?? "");
      target.searchParams.set("code", "a-code-of-the-provider");
      target.searchParams.set("state", url.searchParams.get("state") ?? "");
      response.writeHead(302, { location: target.href }).end();
      return;
    }
    /** @type {Record<string, unknown>} */
    const bodies = {
      "/login/oauth/access_token": {
        access_token: "token-of-the-provider",
        token_type: "bearer",
        scope: "user:email",
      },
      "/api/v3/user": { id: 77, login: "octo", name: "Octo Cat", email: "octo@corp.example" },
      "/api/v3/user/emails": [{ email: "octo@corp.example", primary: true, verified: true }],
    };
    const body = bodies[url.pathname];
    response
      .writeHead(body ? 200 : 404, { "content-type": "application/json" })
      .end(JSON.stringify(body ?? {}));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

/** @param {object} claims */
function sign(claims) {
  /** @param {object} value */
  const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${part({ alg: "HS256", typ: "JWT" })}.${part(claims)}`;
  return `${signed}.${createHmac("sha256", SECRET).update(signed).digest("base64url")}`;
}

/** @param {{ ready: any, site: string, proxy: string, github: string, port: number }} facts */
function variables({ ready, site, proxy, github, port }) {
  const path = "/auth/v1/verify";
  return {
    PORT: String(port),
    API_EXTERNAL_URL: `${proxy}/auth/v1`,
    DATABASE_URL: createDatabase(ready.database_url_tcp),
    GOTRUE_API_HOST: "127.0.0.1",
    // A gateway in front of it usually answers CORS.
    GOTRUE_CORS_ALLOWED_HEADERS: "apikey",
    GOTRUE_DB_DRIVER: "postgres",
    GOTRUE_SITE_URL: site,
    GOTRUE_URI_ALLOW_LIST: `${site}/**`,
    GOTRUE_JWT_SECRET: SECRET,
    GOTRUE_JWT_EXP: "3600",
    GOTRUE_JWT_AUD: "authenticated",
    GOTRUE_JWT_DEFAULT_GROUP_NAME: "authenticated",
    GOTRUE_JWT_ADMIN_ROLES: "service_role",
    GOTRUE_JWT_ISSUER: `${proxy}/auth/v1`,
    GOTRUE_EXTERNAL_EMAIL_ENABLED: "true",
    GOTRUE_MAILER_AUTOCONFIRM: "false",
    GOTRUE_MAILER_URLPATHS_CONFIRMATION: path,
    GOTRUE_MAILER_URLPATHS_RECOVERY: path,
    GOTRUE_SMTP_HOST: "127.0.0.1",
    GOTRUE_SMTP_PORT: String(ready.smtp_port),
    GOTRUE_SMTP_USER: "x",
    GOTRUE_SMTP_PASS: "x",
    GOTRUE_SMTP_ADMIN_EMAIL: "auth@example.com",
    GOTRUE_SMTP_MAX_FREQUENCY: "1us",
    GOTRUE_RATE_LIMIT_EMAIL_SENT: "100000",
    GOTRUE_MFA_TOTP_ENROLL_ENABLED: "true",
    GOTRUE_MFA_TOTP_VERIFY_ENABLED: "true",
    GOTRUE_PASSKEY_ENABLED: "true",
    GOTRUE_WEBAUTHN_RP_ID: "localhost",
    GOTRUE_WEBAUTHN_RP_DISPLAY_NAME: "Account",
    // Replays of recordings have the origin of their application.
    GOTRUE_WEBAUTHN_RP_ORIGINS: site,
    GOTRUE_EXTERNAL_GITHUB_ENABLED: "true",
    GOTRUE_EXTERNAL_GITHUB_CLIENT_ID: "client",
    GOTRUE_EXTERNAL_GITHUB_SECRET: "secret",
    GOTRUE_EXTERNAL_GITHUB_URL: github,
    GOTRUE_EXTERNAL_GITHUB_REDIRECT_URI: `${proxy}/auth/v1/callback`,
  };
}

/**
 * Starts the server; its links and callbacks lead to the recorder.
 *
 * @param {any} ready what the test server printed
 * @param {string} site
 * @param {string} proxy
 */
export async function startReference(ready, site, proxy) {
  const binary = process.env.REFERENCE_BIN ?? "";
  const [github, port] = await Promise.all([startGithub(), freePort()]);
  const env = { ...process.env, ...variables({ ready, site, proxy, github: github.url, port }) };
  const child = spawn(binary, [], {
    cwd: process.env.REFERENCE_FOLDER ?? dirname(binary),
    env,
    stdio: "ignore",
  });
  const ended = once(child, "exit");
  const url = `http://127.0.0.1:${port}`;
  for (let attempt = 0; ; attempt += 1) {
    const response = await fetch(`${url}/health`).catch(() => null);
    if (response?.ok) break;
    if (attempt > 300) throw new Error(`${binary} does not serve`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  async function stop() {
    child.kill("SIGTERM");
    await ended;
    github.close();
  }
  return { url, secret: SECRET, key: sign({ role: "anon", exp: 4_000_000_000 }), stop };
}
