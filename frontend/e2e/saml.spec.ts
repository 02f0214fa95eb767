import { generateKeyPairSync } from "node:crypto";
import { startBasalt } from "./basalt.mjs";
import { type App, appOn, expect, servePages, test as withApp } from "./developer.ts";
import { type IdentityProvider, startIdentityProvider } from "./identity-provider.ts";

const DOMAIN = "company.example";

interface Company {
  app: App;
  idp: IdentityProvider;
  /** Domain of the identity provider. */
  provider: string;
}

/** An app of a company, whose users sign in with the identity provider of the company. */
const test = withApp.extend<{ company: Company }>({
  company: async ({ page }, use) => {
    const [pages, idp] = await Promise.all([servePages(), startIdentityProvider()]);
    const basalt = await startBasalt((config) =>
      config
        .replace("[auth]", `[auth]\nsite_url = "${pages.origin}/app"`)
        .replace("[basalt.shop]", `[basalt.saml]\nenabled = true\nprivate_key = "${key()}"\n$&`),
    );
    const id = await addCompany(basalt.url, basalt.secretKey, idp);
    await use({ app: appOn(page, pages.origin, basalt), idp, provider: `sso:${id}` });
    await basalt.stop();
    idp.close();
    pages.close();
  },
});

/** Returns a key in the format of `[basalt.saml]`. */
function key(): string {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return privateKey.export({ type: "pkcs1", format: "der" }).toString("base64");
}

/** Registers the identity provider as an administrator; returns its id. */
async function addCompany(url: string, secretKey: string, idp: IdentityProvider): Promise<string> {
  const answer = await fetch(`${url}/auth/v1/admin/sso/providers`, {
    method: "POST",
    headers: { apikey: secretKey, "content-type": "application/json" },
    body: JSON.stringify({ type: "saml", metadata_xml: idp.metadata, domains: [DOMAIN] }),
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
  await app.page.getByRole("link", { name: `Sign in as ${who}` }).click();
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

test("an altered response signs no user in, and the app receives the error in its URL", async ({
  company: { app, idp },
}) => {
  idp.tamper((response) => response.replace(`ann@${DOMAIN}`, `bob@${DOMAIN}`));
  await app.open("implicit");
  await signIn(app, "ann");
  const parameters = new URL(app.page.url()).searchParams;
  expect(parameters.get("error")).toBeTruthy();
  expect(parameters.get("error_description")).toMatch(/SAML/);
  expect(await app.session()).toBeNull();

  // The next response is accepted again.
  idp.tamper((response) => response);
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
