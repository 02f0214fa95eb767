import { appendFileSync } from "node:fs";
import { startBasalt } from "@basalt/test";

const basalt = await startBasalt();

/** Settings for everything that the suite does. */
const config = {
  auth: {
    site_url: "http://localhost:3000",
    email: { enable_confirmations: true },
    mfa: { totp: { enroll_enabled: true, verify_enabled: true } },
    passkey: { enabled: true },
    webauthn: {
      rp_id: "localhost",
      rp_display_name: "Suite",
      rp_origins: ["http://localhost:3000"],
    },
  },
};

let shared;

/** Runs a test on a world of its own and records what that costs; with `BENCH_SHARED` on one world per file. */
export async function onWorld(test) {
  if (process.env.BENCH_SHARED) {
    shared ??= basalt.world({ config });
    await test(await shared);
    return;
  }
  const start = performance.now();
  const world = await basalt.world({ config });
  const created = performance.now();
  await test(world);
  const tested = performance.now();
  await world.delete();
  const deleted = performance.now();
  appendFileSync(
    process.env.BENCH_TIMES,
    `${created - start} ${tested - created} ${deleted - tested}\n`,
  );
}
