import { describe } from "vitest";

import { BasaltError, formatReport, reportWorld } from "../src/index.js";
import { expect, test } from "../src/vitest.js";

const ANN = { email: "ann@example.com", password: "correct horse battery" };

describe("worlds", () => {
  test("share nothing", async ({ basalt, world }) => {
    await using other = await basalt.world({ name: "other" });
    const { error } = await world.client().auth.signUp(ANN);
    expect(error).toBeNull();
    const [here, there] = await Promise.all([
      world.admin().auth.admin.listUsers(),
      other.admin().auth.admin.listUsers(),
    ]);
    expect(here.data.users.map((user) => user.email)).toEqual([ANN.email]);
    expect(there.data.users).toEqual([]);
    expect((await basalt.worlds()).map(({ id }) => id)).toContain(other.id);
  });

  test("are deleted at the end of their block", async ({ basalt }) => {
    let id: string;
    {
      await using world = await basalt.world();
      id = world.id;
      expect((await basalt.find(id)).url).toBe(world.url);
    }
    await expect(basalt.find(id)).rejects.toMatchObject({ code: "not_found", status: 404 });
  });

  test("have settings that change at run time", async ({ basalt }) => {
    await using world = await basalt.world({ config: { auth: { enable_signup: false } } });
    const refused = await world.client().auth.signUp(ANN);
    expect(refused.error?.code).toBe("signup_disabled");
    await world.config.patch({ auth: { enable_signup: true } });
    expect((await world.client().auth.signUp(ANN)).error).toBeNull();
    expect(await world.config.get()).toMatchObject({ auth: { enable_signup: true } });
  });

  test("fork, reset and return to a snapshot", async ({ world }) => {
    const count = async (of = world) => (await of.admin().auth.admin.listUsers()).data.users.length;
    await world.client().auth.signUp(ANN);
    await world.snapshot("with ann");
    await using fork = await world.fork("copy");
    await world.reset();
    expect([await count(), await count(fork)]).toEqual([0, 1]);
    await world.restore("with ann");
    expect(await count()).toBe(1);
    await world.deleteSnapshot("with ann");
    await expect(world.restore("with ann")).rejects.toThrow(BasaltError);
  });

  test("name what is wrong with their settings, and what to do", async ({ basalt }) => {
    // @ts-expect-error: the compiler knows the settings, too.
    const refused = basalt.world({ config: { auth: { enable_sinup: true } } });
    await expect(refused).rejects.toMatchObject({
      code: "invalid_settings",
      status: 422,
      hint: expect.stringContaining("docs/configuration.md"),
      message: expect.stringContaining("did you mean auth.enable_signup"),
    });
  });
});

describe("a failed test", () => {
  // The runner ends a test after five seconds, and its own message names no message of the world.
  test("is told by a wait without a time-out which messages came", async ({ world }) => {
    await world.admin().auth.admin.inviteUserByEmail("bea@example.com");
    await expect(world.messages.wait("ann@example.com")).rejects.toMatchObject({
      code: "message_timeout",
      hint: expect.stringContaining("invite to bea@example.com"),
    });
  });

  test("has the id, the events and the messages of its world", async ({ world }) => {
    await world.admin().auth.admin.inviteUserByEmail("bea@example.com");
    const report = formatReport(await reportWorld(world));
    expect(report).toContain(`world ${world.id} (${world.url})`);
    expect(report).toMatch(/audit .*user_invited/);
    expect(report).toMatch(/invite to bea@example.com/);
  });
});

describe("the clock", () => {
  test("expires access tokens", async ({ world }) => {
    const supabase = world.client();
    const { data } = await supabase.auth.signUp(ANN);
    const token = data.session?.access_token;
    await world.clock.advance("59m");
    expect((await supabase.auth.getUser(token)).error).toBeNull();
    await world.clock.advance(2 * 60_000);
    expect((await supabase.auth.getUser(token)).error?.status).toBe(403);
    expect((await supabase.auth.refreshSession()).error).toBeNull();
  });

  test("is set, stopped, sped up and returned", async ({ world }) => {
    const frozen = await world.clock.freeze("2030-01-01T00:00:00Z");
    expect(frozen).toEqual({ now: new Date("2030-01-01T00:00:00Z"), rate: 1, frozen: true });
    await world.clock.rate(60);
    await world.clock.unfreeze();
    const state = await world.clock.set(new Date("2031-01-01T00:00:00Z"));
    expect([state.now.getUTCFullYear(), state.rate, state.frozen]).toEqual([2031, 60, false]);
    await world.clock.reset();
    expect(Math.abs((await world.clock.now()).getTime() - Date.now())).toBeLessThan(5000);
  });

  test("moves the clock of a page", async ({ world }) => {
    const calls: [string, unknown][] = [];
    const record = (name: string) => async (value?: unknown) => void calls.push([name, value]);
    const page = {
      clock: {
        install: record("install"),
        fastForward: record("fastForward"),
        setSystemTime: record("setSystemTime"),
        setFixedTime: record("setFixedTime"),
      },
    };
    await world.clock.advance("1h30m", { page });
    await world.clock.freeze("2030-01-01T00:00:00Z", { page });
    expect(calls).toEqual([
      ["fastForward", 5_400_000],
      ["setFixedTime", new Date("2030-01-01T00:00:00Z")],
    ]);
  });

  test("refuses what is no length of time", async ({ world }) => {
    await expect(world.clock.advance("soon")).rejects.toMatchObject({ code: "invalid_duration" });
  });
});
