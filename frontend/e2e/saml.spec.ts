import { generateKeyPairSync } from "node:crypto";
import { startBasalt } from "./basalt.mjs";
import { type App, appOn, expect, servePages, test as withApp } from "./developer.ts";

const DOMAIN = "company.example";

interface Company {
  app: App;
  /** Name of the identity provider in the auth API. */
  provider: string;
}

/** An app of a company, whose users sign in with the identity provider of the provider simulator. */
const test = withApp.extend<{ company: Company }>({
  company: async ({ page }, use) => {
    const pages = await servePages();
    const simulated = '[basalt.provider]\nstands_in_for = ["google"]';
    const saml = `[basalt.saml]\nenabled = true\nprivate_key = "${key()}"`;
    const basalt = await startBasalt((config) =>
      config
        .replace("[auth]", `[auth]\nsite_url = "${pages.origin}/app"`)
        .replace("[basalt.shop]", `${simulated}\n${saml}\n$&`),
    );
    const id = await addCompany(basalt.url, basalt.secretKey);
    await use({ app: appOn(page, pages.origin, basalt), provider: `sso:${id}` });
    await basalt.stop();
    pages.close();
  },
});

/** Returns a key in the format of `[basalt.saml]`. */
function key(): string {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return privateKey.export({ type: "pkcs1", format: "der" }).toString("base64");
}

/** Registers the identity provider as an administrator; returns its id. */
async function addCompany(url: string, secretKey: string): Promise<string> {
  const metadata = await (await fetch(`${url}/_dev/provider/saml/metadata`)).text();
  const answer = await fetch(`${url}/auth/v1/admin/sso/providers`, {
    method: "POST",
    headers: { apikey: secretKey, "content-type": "application/json" },
    body: JSON.stringify({ type: "saml", metadata_xml: metadata, domains: [DOMAIN] }),
  });
  const text = await answer.text();
  expect(answer.status, text).toBe(201);
  return JSON.parse(text).id;
}

/** Starts a sign-in with the company, and chooses the user there. */
async function signIn(app: App, who: string): Promise<void> {
  // The client itself leaves the page, so the evaluation must not wait for the client's answer.
  await app.page.evaluate(
    ([domain, redirectTo]) => {
      setTimeout(() => window.client.auth.signInWithSSO({ domain, options: { redirectTo } }));
    },
    [DOMAIN, app.url] as const,
  );
  await app.page.getByRole("textbox", { name: "Address" }).fill(`${who}@${DOMAIN}`);
  await app.page.getByRole("button", { name: "Continue" }).click();
  await app.page.waitForURL((url) => url.href.startsWith(app.url));
  await app.page.waitForFunction(() => window.client);
}

for (const flowType of ["implicit", "pkce"] as const) {
  test(`users of a company sign in by the ${flowType} flow`, async ({ company }) => {
    const { app } = company;
    await app.open(flowType);
    await signIn(app, "ann");
    await expect.poll(async () => (await app.session())?.user.email).toBe(`ann@${DOMAIN}`);
    const session = await app.session();
    expect(session?.user.app_metadata).toMatchObject({ provider: company.provider });
    expect(session?.user.identities?.map(({ provider }) => provider)).toEqual([company.provider]);
    expect(await app.page.evaluate(() => window.events)).toContain("SIGNED_IN");
    const refreshed = await app.page.evaluate(async () => {
      const { data, error } = await window.client.auth.refreshSession();
      return error?.message ?? data.session?.user.id;
    });
    expect(refreshed).toBe(session?.user.id);

    // The same user gets the same account, another user gets another account.
    await app.page.evaluate(() => window.client.auth.signOut());
    await signIn(app, "ann");
    await expect.poll(async () => (await app.session())?.user.id).toBe(session?.user.id);
    await app.page.evaluate(() => window.client.auth.signOut());
    await signIn(app, "bob");
    await expect.poll(async () => (await app.session())?.user.email).toBe(`bob@${DOMAIN}`);
    expect((await app.session())?.user.id).not.toBe(session?.user.id);
  });
}

/** Changes the response that the browser posts to the auth API. */
async function alterResponse(app: App, change: (xml: string) => string): Promise<void> {
  await app.page.route("**/sso/saml/acs", (route) => {
    const form = new URLSearchParams(route.request().postData() ?? "");
    const xml = Buffer.from(form.get("SAMLResponse") ?? "", "base64").toString();
    form.set("SAMLResponse", Buffer.from(change(xml)).toString("base64"));
    return route.continue({ postData: form.toString() });
  });
}

test("an altered response signs no user in, and the app receives the error in its URL", async ({
  company: { app },
}) => {
  await alterResponse(app, (xml) => xml.replaceAll(`ann@${DOMAIN}`, `bob@${DOMAIN}`));
  await app.open("implicit");
  await signIn(app, "ann");
  const parameters = new URL(app.page.url()).searchParams;
  expect(parameters.get("error")).toBeTruthy();
  expect(parameters.get("error_description")).toMatch(/SAML/);
  expect(await app.session()).toBeNull();

  // The next response is accepted again.
  await app.page.unroute("**/sso/saml/acs");
  await signIn(app, "ann");
  await expect.poll(async () => (await app.session())?.user.email).toBe(`ann@${DOMAIN}`);
});

test("an unknown company redirects nowhere", async ({ company: { app } }) => {
  await app.open("implicit");
  const code = await app.page.evaluate(async () => {
    const { error } = await window.client.auth.signInWithSSO({ domain: "other.example" });
    return error?.code;
  });
  expect(code).toBe("sso_provider_not_found");
  expect(app.page.url()).toBe(app.url);
});
