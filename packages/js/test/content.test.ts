import { describe } from "vitest";

import { expect, test } from "../src/vitest.js";

const ANN = { email: "ann@example.com", password: "correct horse battery" };

describe("messages", () => {
  test("are returned by wait once each, oldest first", async ({ world }) => {
    const supabase = world.client();
    const first = world.messages.wait(ANN.email);
    await supabase.auth.signInWithOtp({ email: ANN.email });
    const { code, kind } = await first;
    await world.clock.advance("2m");
    await supabase.auth.signInWithOtp({ email: ANN.email });
    const second = await world.messages.wait({ to: ANN.email, kind });
    expect(second.code).not.toBe(code);
    const { data, error } = await supabase.auth.verifyOtp({
      email: ANN.email,
      token: second.code ?? "",
      type: "email",
    });
    expect(error).toBeNull();
    expect(data.user?.email).toBe(ANN.email);
    expect(await world.messages.list({ to: ANN.email })).toHaveLength(2);
    expect(await world.messages.raw(second.id)).toContain("Subject:");
    expect((await world.messages.get(second.id)).attachments).toEqual([]);
  });

  test("that do not come are an error with those that came", async ({ world }) => {
    await world.client().auth.signInWithOtp({ email: ANN.email });
    await world.messages.wait(ANN.email);
    await expect(world.messages.wait("bob@example.com", { timeout: 100 })).rejects.toMatchObject({
      code: "message_timeout",
      hint: expect.stringContaining(ANN.email),
    });
  });

  test("have a matcher, and are deleted", async ({ world }) => {
    await world.client().auth.signInWithOtp({ email: ANN.email });
    await expect(world).toHaveMailed(ANN.email);
    await expect(world).not.toHaveMailed("bob@example.com");
    const failing = expect(world).toHaveMailed(ANN.email, { kind: "invite", timeout: 100 });
    await expect(failing).rejects.toThrow(`to ${ANN.email}`);
    await world.messages.delete({ to: ANN.email });
    expect(await world.messages.list()).toEqual([]);
  });
});

describe("users and sessions", () => {
  test("a created user signs in with the given password", async ({ world }) => {
    const user = await world.users.create(ANN);
    const { data, error } = await world.client().auth.signInWithPassword(ANN);
    expect(error).toBeNull();
    expect(data.user?.id).toBe(user.id);
  });

  test("users are created in bulk, or none", async ({ world }) => {
    const wanted = Array.from({ length: 20 }, (_, n) => ({ email: `u${n}@example.com` }));
    expect(await world.users.create(wanted)).toHaveLength(20);
    const [first] = wanted;
    await expect(world.users.create([{}, { email: first?.email ?? "" }])).rejects.toMatchObject({
      status: expect.any(Number),
    });
    expect((await world.admin().auth.admin.listUsers()).data.users).toHaveLength(20);
  });

  test("a known secret gives the code of the second factor", async ({ basalt }) => {
    const totp = { enroll_enabled: true, verify_enabled: true };
    await using world = await basalt.world({ config: { auth: { mfa: { totp } } } });
    const user = await world.users.create({ ...ANN, factors: [{}] });
    const [factor] = user.factors ?? [];
    const supabase = world.client();
    await supabase.auth.signInWithPassword(ANN);
    const { code, valid_for } = await world.totp(factor?.secret ?? "");
    expect(valid_for).toBeGreaterThan(0);
    const { error } = await supabase.auth.mfa.challengeAndVerify({
      factorId: factor?.id ?? "",
      code,
    });
    expect(error).toBeNull();
  });

  test("recovery codes of a new user raise the session", async ({ basalt }) => {
    const mfa = {
      totp: { enroll_enabled: true, verify_enabled: true },
      recovery_codes: { verify_enabled: true },
    };
    await using world = await basalt.world({ config: { auth: { mfa } } });
    const wanted = { ...ANN, factors: [{}, { type: "recovery_code" as const }] };
    const user = await world.users.create(wanted);
    const codes = user.factors?.find((factor) => factor.factor_type === "recovery_code")?.codes;
    expect(codes).toHaveLength(10);
    const supabase = world.client();
    const { data } = await supabase.auth.signInWithPassword(ANN);
    const verify = async () =>
      await fetch(`${world.url}/auth/v1/factors/recovery-codes/verify`, {
        method: "POST",
        headers: {
          apikey: world.publishableKey,
          authorization: `Bearer ${data.session?.access_token}`,
          "content-type": "application/json",
        },
        body: JSON.stringify({ code: codes?.[0] }),
      });
    expect((await verify()).status).toBe(200);
    expect((await verify()).status).toBe(422);
  });

  test("a software passkey registers and signs in", async ({ basalt }) => {
    const origin = "http://localhost:3000";
    const webauthn = { rp_id: "localhost", rp_display_name: "Test", rp_origins: [origin] };
    const config = { auth: { site_url: origin, passkey: { enabled: true }, webauthn } };
    await using world = await basalt.world({ config });
    const user = await world.users.create();
    const supabase = world.client({ auth: { experimental: { passkey: true } } });
    await supabase.auth.setSession((await world.sessions.create(user)).session);
    const registration = await supabase.auth.passkey.startRegistration();
    const created = await world.passkeys.create(registration.data?.options ?? {}, { origin });
    const { error } = await supabase.auth.passkey.verifyRegistration({
      challengeId: registration.data?.challenge_id ?? "",
      credential: created,
    });
    expect(error).toBeNull();
    await supabase.auth.signOut();
    const authentication = await supabase.auth.passkey.startAuthentication();
    const signed = await world.passkeys.get(authentication.data?.options ?? {}, { origin });
    const { data } = await supabase.auth.passkey.verifyAuthentication({
      challengeId: authentication.data?.challenge_id ?? "",
      credential: signed,
    });
    expect(data?.user?.id).toBe(user.id);
  });

  test("a session needs no sign-in", async ({ world }) => {
    const user = await world.users.create({ factors: [{}] });
    const { session, storage_key } = await world.sessions.create(user, { aal: "aal2" });
    expect(storage_key).toBe(world.storageKey);
    const supabase = world.client();
    await supabase.auth.setSession(session);
    const level = await supabase.auth.mfa.getAuthenticatorAssuranceLevel();
    expect(level.data?.currentLevel).toBe("aal2");
    const short = await world.sessions.create(user, { expires_in: 5 });
    expect(short.session.expires_in).toBeLessThanOrEqual(5);
  });

  test("a session has the form of a browser", async ({ world }) => {
    const { email } = await world.users.create();
    const origin = "http://localhost:3000";
    const { cookies, cookie_header } = await world.sessions.create(email, {
      origin,
      format: "ssr",
    });
    expect(cookies[0]?.name).toContain(world.storageKey);
    expect(cookie_header).toContain(`${world.storageKey}`);
    const created = await world.sessions.create(email, { origin, format: "playwright" });
    expect(created.storage_state.origins[0]?.origin).toBe(origin);
  });
});

describe("faults", () => {
  test("affect requests and count them", async ({ world }) => {
    await world.users.create(ANN);
    const match = { path: "/auth/v1/token*" };
    const fault = await world.faults.add({ match, do: { status: 503 }, count: 1 });
    const supabase = world.client();
    expect((await supabase.auth.signInWithPassword(ANN)).error?.status).toBe(503);
    expect((await supabase.auth.signInWithPassword(ANN)).error).toBeNull();
    expect(await world.faults.list()).toMatchObject([{ id: fault.id, hits: 1, match }]);
    await world.faults.clear(fault);
    expect(await world.faults.list()).toEqual([]);
  });
});

describe("events", () => {
  test("tell what a sign-up did", async ({ world }) => {
    const { data } = await world.client().auth.signUp(ANN);
    const user = data.user?.id ?? "";
    await expect(world).toHaveAudited("user_signedup", { user });
    await expect(world).not.toHaveAudited("login", {
      user: "00000000-0000-0000-0000-000000000001",
    });
    const requests = await world.events.list({ kind: "request", wait: 1000 });
    expect(requests.map((event) => event.data.status)).toContain(200);
    for await (const event of world.events.stream({ kind: "audit" })) {
      expect(event.user_id).toBe(user);
      break;
    }
  });
});
