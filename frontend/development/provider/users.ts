import * as v from "valibot";
import users from "./users.json" with { type: "json" };

const UserSchema = v.object({
  id: v.pipe(v.string(), v.regex(/^[a-z]+$/)),
  name: v.pipe(v.string(), v.nonEmpty()),
  /** Empty for a user without an address. */
  email: v.union([v.literal(""), v.pipe(v.string(), v.email())]),
  verified: v.boolean(),
});

/** A preset user of the provider simulator. */
export type PresetUser = v.InferOutput<typeof UserSchema>;

/** The preset users, from the file that the server reads too. */
export const PRESET_USERS: readonly PresetUser[] = v.parse(v.array(UserSchema), users);

/** Returns what the page says about the address of a user. */
export function describeAddress({ email, verified }: PresetUser): string {
  if (email === "") return "has no address";
  return verified ? `${email}, verified` : `${email}, not verified`;
}
