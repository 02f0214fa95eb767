import {
  type App,
  expect,
  newAddress,
  PASSWORD,
  signedUp,
  signInByPassword,
  signOut,
  test,
} from "./developer.ts";

/** Requests a link or code by mail; returns the error of the client, if there is one. Limit: one mail per address and second. */
async function askToSignIn(app: App, email: string): Promise<string | undefined> {
  return app.page.evaluate(
    async ([email, url]) => {
      const { error } = await window.client.auth.signInWithOtp({
        email,
        options: { emailRedirectTo: url },
      });
      return error?.message;
    },
    [email, app.url] as const,
  );
}

test("a magic link signs in the browser that opens it", async ({ app }) => {
  await app.open("implicit");
  const email = await signedUp(app);
  await signOut(app);
  await expect.poll(() => askToSignIn(app, email)).toBeUndefined();

  const { link } = await app.mail(email, "magic_link");
  await app.page.goto(link);

  expect((await app.session())?.user.email).toBe(email);
  // The client leaves the empty fragment.
  await expect(app.page).toHaveURL(`${app.url}#`);
  expect(await app.page.evaluate(() => window.events)).toContain("SIGNED_IN");

  await signOut(app);
  await app.page.goto(link);
  await expect(app.page).toHaveURL(/error_code=otp_expired/);
  expect(await app.session()).toBeNull();
});

test("a link of the PKCE flow signs in only the browser that requested it", async ({
  app,
  browser,
}) => {
  await app.open("pkce");
  const email = newAddress();
  await expect.poll(() => askToSignIn(app, email)).toBeUndefined();
  const { link } = await app.mail(email, "confirmation");

  const elsewhere = await (await browser.newContext()).newPage();
  const landed = elsewhere.waitForRequest((request) =>
    request.url().startsWith(`${app.url}?code=`),
  );
  const came = elsewhere.goto(link);
  const withCode = (await landed).url();
  await came;
  expect(await elsewhere.evaluate(() => localStorage.length)).toBe(0);
  await elsewhere.context().close();

  await app.page.goto(withCode);
  await expect.poll(async () => (await app.session())?.user.email).toBe(email);
  await expect(app.page).toHaveURL(app.url);
});

test("a mailed code signs in once", async ({ app }) => {
  await app.open("implicit");
  const email = newAddress();
  await expect.poll(() => askToSignIn(app, email)).toBeUndefined();
  const { code } = await app.mail(email, "confirmation");

  async function typed(token: string): Promise<string | undefined> {
    return app.page.evaluate(
      async ([email, token]) => {
        const { error } = await window.client.auth.verifyOtp({ email, token, type: "email" });
        return error?.code;
      },
      [email, token] as const,
    );
  }
  expect(await typed(code === "000000" ? "000001" : "000000")).toBe("otp_expired");
  expect(await typed(code)).toBeUndefined();
  expect((await app.session())?.user.email).toBe(email);
  expect(await typed(code)).toBe("otp_expired");
});

for (const flow of ["implicit", "pkce"] as const) {
  test(`a forgotten password is reset, ${flow} flow`, async ({ app }) => {
    await app.open(flow);
    const email = await signedUp(app);
    await signOut(app);
    const ask = () =>
      app.page.evaluate(
        async ([email, url]) =>
          (await window.client.auth.resetPasswordForEmail(email, { redirectTo: url })).error
            ?.message,
        [email, app.url] as const,
      );
    await expect.poll(ask).toBeUndefined();

    await app.page.goto((await app.mail(email, "recovery")).link);
    await expect.poll(() => app.page.evaluate(() => window.events)).toContain("PASSWORD_RECOVERY");
    const changed = await app.page.evaluate(
      async (password) => (await window.client.auth.updateUser({ password })).error?.message,
      "a new and longer one",
    );
    expect(changed).toBeUndefined();

    await signOut(app);
    expect(await signInByPassword(app, email, PASSWORD)).toBe("invalid_credentials");
    expect(await signInByPassword(app, email, "a new and longer one")).toBeUndefined();
  });
}

test("a new address is valid after both confirmations", async ({ app }) => {
  await app.open("implicit");
  const [before, after] = [await signedUp(app), newAddress()];
  const pending = await app.page.evaluate(
    async ([email, url]) => {
      const { data, error } = await window.client.auth.updateUser(
        { email },
        { emailRedirectTo: url },
      );
      return error?.message ?? data.user?.new_email;
    },
    [after, app.url] as const,
  );
  expect(pending).toBe(after);
  const links = [
    await app.mail(before, "email_change"),
    await app.mail(after, "email_change"),
  ] as const;

  await app.page.goto(links[0].link);
  await expect(app.page).toHaveURL(/#message=Confirmation\+link\+accepted/);
  const half = await app.page.evaluate(async () => (await window.client.auth.getUser()).data.user);
  expect(half).toMatchObject({ email: before, new_email: after });

  await app.page.goto(links[1].link);
  await expect.poll(async () => (await app.session())?.user.email).toBe(after);
  await signOut(app);
  expect(await signInByPassword(app, before, PASSWORD)).toBe("invalid_credentials");
  expect(await signInByPassword(app, after, PASSWORD)).toBeUndefined();
});

test("an anonymous visitor keeps the account when it becomes permanent", async ({ app }) => {
  await app.open("implicit");
  const email = newAddress();
  const id = await app.page.evaluate(
    async () => (await window.client.auth.signInAnonymously()).data.user?.id,
  );
  expect((await app.session())?.user.is_anonymous).toBe(true);
  const error = await app.page.evaluate(
    async ([email, url]) =>
      (await window.client.auth.updateUser({ email }, { emailRedirectTo: url })).error?.message,
    [email, app.url] as const,
  );
  expect(error).toBeUndefined();

  await app.page.goto((await app.mail(email, "email_change")).link);
  await expect
    .poll(async () => (await app.session())?.user)
    .toMatchObject({ id, email, is_anonymous: false });
  const password = await app.page.evaluate(
    async (password) => (await window.client.auth.updateUser({ password })).error?.message,
    PASSWORD,
  );
  expect(password).toBeUndefined();
  await signOut(app);
  expect(await signInByPassword(app, email, PASSWORD)).toBeUndefined();
  expect((await app.session())?.user.id).toBe(id);
});
