import { codeOf, withAuthenticator } from "./authenticators.ts";
import { startBasalt } from "./basalt.mjs";
import {
  type App,
  appOn,
  expect,
  PASSWORD,
  servePages,
  signedUp,
  signInByPassword,
  signOut,
  test,
} from "./developer.ts";

/** Returns the current and the next assurance level of the session. */
async function levels(app: App): Promise<[string | null | undefined, string | null | undefined]> {
  return app.page.evaluate(async () => {
    const { data } = await window.client.auth.mfa.getAuthenticatorAssuranceLevel();
    return [data?.currentLevel, data?.nextLevel];
  });
}

/** Verifies a challenge of a factor with a code; returns the error code of the client, if there is an error. */
async function answer(app: App, factorId: string, code: string): Promise<string | undefined> {
  return app.page.evaluate(
    async ([factorId, code]) =>
      (await window.client.auth.mfa.challengeAndVerify({ factorId, code })).error?.code,
    [factorId, code] as const,
  );
}

test("a TOTP factor raises the assurance level, and is required at the next sign-in", async ({
  app,
}) => {
  await app.open("implicit");
  const email = await signedUp(app);
  const enrolled = await app.page.evaluate(async () => {
    const { data, error } = await window.client.auth.mfa.enroll({
      factorType: "totp",
      friendlyName: "phone",
    });
    if (error) throw error;
    return data;
  });
  const drawn = await app.page.evaluate(async (source) => {
    const image = new Image();
    image.src = source;
    await image.decode();
    return image.naturalWidth;
  }, enrolled.totp.qr_code);
  expect(drawn).toBeGreaterThan(0);

  expect(await answer(app, enrolled.id, codeOf(enrolled.totp.secret, 1000))).toBe(
    "mfa_verification_failed",
  );
  expect(await levels(app)).toEqual(["aal1", "aal1"]);
  expect(await answer(app, enrolled.id, codeOf(enrolled.totp.secret))).toBeUndefined();
  expect(await levels(app)).toEqual(["aal2", "aal2"]);

  await signOut(app);
  expect(await signInByPassword(app, email, PASSWORD)).toBeUndefined();
  expect(await levels(app)).toEqual(["aal1", "aal2"]);
  // A code is single-use, so the next one is entered.
  expect(await answer(app, enrolled.id, codeOf(enrolled.totp.secret, 1))).toBeUndefined();
  expect(await levels(app)).toEqual(["aal2", "aal2"]);
});

test.describe("with keys", () => {
  // The pages start first, because the server must know their origin.
  const keyed = test.extend<{ keyedApp: App }>({
    keyedApp: async ({ page }, use) => {
      const pages = await servePages();
      const origin = pages.origin.replace("127.0.0.1", "localhost");
      const basalt = await startBasalt((config) =>
        config
          .replace("additional_redirect_urls = [", `additional_redirect_urls = ["${origin}/**", `)
          .concat(
            `\n[auth.passkey]\nenabled = true\n[auth.webauthn]\nrp_id = "localhost"\nrp_display_name = "Shop"\n`,
            `rp_origins = ["${origin}"]\n[auth.mfa.web_authn]\nenroll_enabled = true\nverify_enabled = true\n`,
          ),
      );
      await use(appOn(page, origin, basalt));
      await basalt.stop();
      pages.close();
    },
  });

  keyed("a passkey signs in without an address", async ({ keyedApp: app }) => {
    await withAuthenticator(app.page, "internal");
    await app.open("implicit");
    const email = await signedUp(app);
    const made = await app.page.evaluate(async () => {
      const { data, error } = await window.client.auth.registerPasskey();
      return error?.message ?? data?.id;
    });
    expect(made).toMatch(/^[0-9a-f-]{36}$/);
    await signOut(app);

    const refused = await app.page.evaluate(
      async () => (await window.client.auth.signInWithPasskey()).error?.message,
    );
    expect(refused).toBeUndefined();
    expect((await app.session())?.user.email).toBe(email);
    const kept = await app.page.evaluate(
      async () => (await window.client.auth.passkey.list()).data?.length,
    );
    expect(kept).toBe(1);
  });

  keyed(
    "a security key raises the assurance level, and is required again",
    async ({ keyedApp: app }) => {
      await withAuthenticator(app.page, "usb");
      await app.open("implicit");
      const email = await signedUp(app);
      const registered = await app.page.evaluate(async () => {
        const { error } = await window.client.auth.mfa.webauthn.register({ friendlyName: "key" });
        return error?.message;
      });
      expect(registered).toBeUndefined();
      expect(await levels(app)).toEqual(["aal2", "aal2"]);

      await signOut(app);
      await signInByPassword(app, email, PASSWORD);
      expect(await levels(app)).toEqual(["aal1", "aal2"]);
      const authenticated = await app.page.evaluate(async () => {
        const { data } = await window.client.auth.mfa.listFactors();
        const factorId = data?.all[0]?.id ?? "";
        return (await window.client.auth.mfa.webauthn.authenticate({ factorId })).error?.message;
      });
      expect(authenticated).toBeUndefined();
      expect(await levels(app)).toEqual(["aal2", "aal2"]);
    },
  );
});
