import type { TestApi } from "./api.js";
import { BasaltError } from "./error.js";
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "./webauthn.js";

/** A second factor of a new user; without members a verified TOTP factor with a new secret. */
export interface NewFactor {
  id?: string;
  /** `totp` without it. */
  type?: "totp" | "phone" | "recovery_code";
  /** The recovery codes of a factor `recovery_code`; without them new ones. */
  codes?: string[];
  /** The base32 secret of a TOTP factor. */
  secret?: string;
  phone?: string;
  friendly_name?: string;
  status?: "verified" | "unverified";
}

/** An identity of a new user at a provider. */
export interface NewIdentity {
  provider: string;
  provider_id?: string;
  identity_data?: Record<string, unknown>;
}

/** A user to create. */
export interface NewUser {
  id?: string;
  email?: string;
  phone?: string;
  password?: string;
  /** A hash of the password in a form that imports accept. */
  password_hash?: string;
  /** Whether address and number are confirmed; true without it. */
  confirmed?: boolean;
  user_metadata?: Record<string, unknown>;
  app_metadata?: Record<string, unknown>;
  factors?: NewFactor[];
  identities?: NewIdentity[];
}

/** A factor of a created user. */
export interface CreatedFactor {
  id: string;
  factor_type: string;
  status: string;
  /** The base32 secret of a TOTP factor, for `world.totp`. */
  secret?: string;
  /** The recovery codes of a factor `recovery_code`. */
  codes?: string[];
  [member: string]: unknown;
}

/** A created user as the admin API describes it. */
export interface CreatedUser {
  id: string;
  email: string;
  phone: string;
  user_metadata: Record<string, unknown>;
  app_metadata: Record<string, unknown>;
  /** The factors, with their secrets. */
  factors?: CreatedFactor[];
  [member: string]: unknown;
}

/** Creates users without sign-up. */
export class WorldUsers {
  constructor(private readonly api: TestApi) {}

  /** Creates a user, or all users of a list; an invalid entry creates none. */
  async create(user?: NewUser): Promise<CreatedUser>;
  async create(users: NewUser[]): Promise<CreatedUser[]>;
  async create(users: NewUser | NewUser[] = {}): Promise<CreatedUser | CreatedUser[]> {
    const list = Array.isArray(users) ? users : [withAddress(users)];
    const created = await this.api.call<CreatedUser[]>("POST", "/users", { body: list });
    const [first] = created;
    return Array.isArray(users) || first === undefined ? created : first;
  }
}

let lastNumber = 0;

/** Adds an address that no other user of this process has, unless there is an address or a number. */
function withAddress(user: NewUser): NewUser {
  if (user.email !== undefined || user.phone !== undefined) return user;
  lastNumber += 1;
  return { ...user, email: `user${lastNumber}-${process.pid}@example.com` };
}

/** Whose session, and of which kind. */
export interface SessionOptions {
  /** The level of assurance; `aal2` needs methods, or a factor, of two kinds. */
  aal?: "aal1" | "aal2";
  /** The methods of the claim `amr`, such as `["password", "totp"]`. */
  amr?: string[];
  /** Seconds until the access token expires; negative for one that has expired. */
  expires_in?: number;
  /** The origin of the application, for cookies and local storage. */
  origin?: string;
}

/** A session as the token endpoint returns it. */
export interface Session {
  access_token: string;
  refresh_token: string;
  token_type: "bearer";
  expires_in: number;
  expires_at: number;
  user: { id: string; email?: string; [member: string]: unknown };
  [member: string]: unknown;
}

/** A cookie as Playwright's `addCookies` takes it. */
export interface SessionCookie {
  name: string;
  value: string;
  domain: string;
  path: string;
  expires: number;
  httpOnly: boolean;
  secure: boolean;
  sameSite: "Lax" | "Strict" | "None";
}

/** `storageState` of a Playwright context. */
export interface StorageState {
  cookies: SessionCookie[];
  origins: { origin: string; localStorage: { name: string; value: string }[] }[];
}

/** A session and where clients store it. */
export interface CreatedSession {
  session: Session;
  storage_key: string;
}

/** A session with the cookies of `@supabase/ssr`. */
export interface CreatedCookies extends CreatedSession {
  cookies: SessionCookie[];
  /** The value of the header `Cookie`. */
  cookie_header: string;
}

/** A session in the local storage of a browser context. */
export interface CreatedStorageState extends CreatedSession {
  storage_state: StorageState;
}

/** A user: the id, the address, the number, or what `world.users.create` returned. */
export type UserReference = string | { id: string } | { email: string } | { phone: string };

/** Creates sessions without a sign-in. */
export class WorldSessions {
  constructor(private readonly api: TestApi) {}

  /** Creates a session; `format` adds cookies for `@supabase/ssr` or Playwright's storage state. */
  async create(
    user: UserReference,
    options: SessionOptions & { format: "ssr" },
  ): Promise<CreatedCookies>;
  async create(
    user: UserReference,
    options: SessionOptions & { format: "playwright" },
  ): Promise<CreatedStorageState>;
  async create(
    user: UserReference,
    options?: SessionOptions & { format?: "json" },
  ): Promise<CreatedSession>;
  async create(
    user: UserReference,
    options: SessionOptions & { format?: string } = {},
  ): Promise<CreatedSession> {
    return await this.api.call("POST", "/sessions", { body: { ...ownerOf(user), ...options } });
  }
}

function ownerOf(user: UserReference): Record<string, string> {
  if (typeof user === "string") return user.includes("@") ? { email: user } : { id: user };
  if ("id" in user) return { id: user.id };
  return "email" in user ? { email: user.email } : { phone: user.phone };
}

/** A time-based one-time password. */
export interface TotpCode {
  code: string;
  /** Seconds of the world's clock until it is no longer valid. */
  valid_for: number;
}

/** The private state of a software passkey. */
export interface Passkey {
  credential_id: string;
  private_key: string;
  rp_id: string;
  user_handle: string | null;
  sign_count: number;
}

/** How a passkey answers. */
export interface PasskeyOptions {
  /** The origin of the page; without it the first one of the settings. */
  origin?: string;
  /** Whether the user was verified, for example by a fingerprint; true without it. */
  userVerified?: boolean;
}

interface PasskeyAnswer<Credential> {
  credential: Credential;
  passkey: Passkey;
}

/** A software authenticator with passkeys, which this object keeps: it takes the part of browser and device. */
export class WorldPasskeys {
  /** The passkeys by credential id, the newest last. */
  private readonly known = new Map<string, Passkey>();

  constructor(private readonly api: TestApi) {}

  /** Creates a passkey for the options of a registration, as `navigator.credentials.create()` does. */
  async create(options: object, how: PasskeyOptions = {}): Promise<RegistrationResponseJSON> {
    return await this.answer({ options }, how);
  }

  /** Signs for the options of an authentication, as `navigator.credentials.get()` does. */
  async get(options: object, how: PasskeyOptions = {}): Promise<AuthenticationResponseJSON> {
    const passkey = this.choose(options as AssertionOptions);
    return await this.answer({ options, passkey }, how);
  }

  /** Returns the passkeys, oldest first. */
  list(): Passkey[] {
    return [...this.known.values()];
  }

  private choose({ publicKey, ...options }: AssertionOptions): Passkey {
    const { allowCredentials: allowed = [], rpId } = publicKey ?? options;
    const usable = this.list().filter(
      (passkey) =>
        (rpId === undefined || passkey.rp_id === rpId) &&
        (allowed.length === 0 || allowed.some(({ id }) => id === passkey.credential_id)),
    );
    const newest = usable.at(-1);
    if (newest !== undefined) return newest;
    throw new BasaltError(
      "passkey_missing",
      "no passkey fits these options",
      "create one first, with world.passkeys.create(options of the registration)",
    );
  }

  private async answer<Credential>(
    body: { options: object; passkey?: Passkey },
    { origin, userVerified }: PasskeyOptions,
  ): Promise<Credential> {
    const { credential, passkey } = await this.api.call<PasskeyAnswer<Credential>>(
      "POST",
      "/authenticators/passkeys",
      { body: { ...body, origin, user_verified: userVerified } },
    );
    this.known.set(passkey.credential_id, passkey);
    return credential;
  }
}

interface AssertionOptions {
  publicKey?: AssertionOptions;
  rpId?: string;
  allowCredentials?: { id: string }[];
}
