import { generateKeyPairSync } from "node:crypto";
import { startBasalt } from "./basalt.mjs";
import { type App, appOn, expect, servePages, test as withApp } from "./developer.ts";
import { type IdentityProvider, startIdentityProvider } from "./identity-provider.ts";

const DOMAIN = "company.example";

interface Company {
  app: App;
  idp: IdentityProvider;
  /** What its people's provider is called. */
  provider: string;
}

/** An app of a company, whose people sign in with the company's own identity provider. */
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

/** A key as `[basalt.saml]` wants it. */
function key(): string {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return privateKey.export({ type: "pkcs1", format: "der" }).toString("base64");
}

/** Makes the identity provider known, as an administrator does; its id. */
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

/** Lets the client send the browser to the company, and chooses who to be there. */
async function signIn(app: App, who: string): Promise<void> {
  await app.page.evaluate(
    ([domain, redirectTo]) =>
      window.client.auth.signInWithSSO({ domain, options: { redirectTo } }).then(({ data }) => {
        if (data?.url) window.location.assign(data.url);
      }),
    [DOMAIN, app.url] as const,
  );
  await app.page.getByRole("link", { name: `Sign in as ${who}` }).click();
  await app.page.waitForURL((url) => url.href.startsWith(app.url));
  await app.page.waitForFunction(() => window.client);
}

for (const flowType of ["implicit", "pkce"] as const) {
  test(`a company's people sign in by the ${flowType} flow`, async ({ company }) => {
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

    // The same person comes back to the same account, and another has another.
    await app.page.evaluate(() => window.client.auth.signOut());
    await signIn(app, "ann");
    await expect.poll(async () => (await app.session())?.user.id).toBe(session?.user.id);
    await app.page.evaluate(() => window.client.auth.signOut());
    await signIn(app, "bob");
    await expect.poll(async () => (await app.session())?.user.email).toBe(`bob@${DOMAIN}`);
    expect((await app.session())?.user.id).not.toBe(session?.user.id);
  });
}

test("an altered response signs nobody in, and the app hears of it in its address", async ({
  company: { app, idp },
}) => {
  idp.tamper((response) => response.replace(`ann@${DOMAIN}`, `bob@${DOMAIN}`));
  await app.open("implicit");
  await signIn(app, "ann");
  const told = new URL(app.page.url()).searchParams;
  expect(told.get("error")).toBeTruthy();
  expect(told.get("error_description")).toMatch(/SAML/);
  expect(await app.session()).toBeNull();

  // The next one is believed again.
  idp.tamper((response) => response);
  await signIn(app, "ann");
  await expect.poll(async () => (await app.session())?.user.email).toBe(`ann@${DOMAIN}`);
});

test("a company that nobody knows sends nobody away", async ({ company: { app } }) => {
  await app.open("implicit");
  const code = await app.page.evaluate(async () => {
    const { error } = await window.client.auth.signInWithSSO({ domain: "other.example" });
    return error?.code;
  });
  expect(code).toBe("sso_provider_not_found");
  expect(app.page.url()).toBe(app.url);
});
