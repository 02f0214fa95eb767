import "./dispose.js";

import type { SupabaseClient } from "@supabase/supabase-js";

import {
  type NewUser,
  type TotpCode,
  WorldPasskeys,
  WorldSessions,
  WorldUsers,
} from "./accounts.js";
import type { TestApi } from "./api.js";
import { type ClientOptions, createWorldClient } from "./client.js";
import { WorldClock } from "./clock.js";
import { BasaltError } from "./error.js";
import { WorldEvents } from "./events.js";
import { WorldFaults } from "./faults.js";
import { WorldMessages } from "./messages.js";
import type { Settings } from "./settings.js";

/** A change of settings as a JSON merge patch (RFC 7396): `null` removes a member. */
export type SettingsChange<Changed = Settings> = Changed extends readonly unknown[]
  ? Changed
  : Changed extends object
    ? { [Name in keyof Changed]?: SettingsChange<Changed[Name]> | null }
    : Changed;

/** A world to create. */
export interface NewWorld {
  /** A name for people. */
  name?: string;
  /** `gotrue` behaves like the drop-in and takes `env`; `serve` without it. */
  profile?: "serve" | "gotrue";
  /** Variables of the profile `gotrue`. */
  env?: Record<string, string>;
  /** Settings in the shape of `config.toml`, over those of the server. */
  config?: Settings;
  /** Data that the world has from its creation on, and after a reset. */
  seed?: { users?: NewUser[] };
  /** The name of a snapshot. */
  from?: string;
}

/** URL and keys of a world. */
export interface WorldDescription {
  id: string;
  name?: string;
  url: string;
  profile: "serve" | "gotrue";
  publishable_key: string;
  secret_key: string;
  anon_key: string;
  service_role_key: string;
  jwt_secret: string;
  database_url: string;
  database_url_tcp: string;
  storage_key: string;
}

/** What is unusual about a sign-in at a provider. */
export type SignInScenario =
  | "denied"
  | "missing_email"
  | "unverified_email"
  | "changed_email"
  | "shared_email"
  | "relay_email"
  | "wrong_nonce"
  | "bad_signature"
  | "expired_code"
  | "malformed_response"
  | "slow_response"
  | "server_error"
  | "revoked_refresh_token";

/** The next sign-in at a provider. */
export interface NextSignIn {
  sub?: string;
  email?: string;
  email_verified?: boolean;
  claims?: Record<string, unknown>;
  /** An error that the provider returns, such as `access_denied`. */
  error?: string;
  error_description?: string;
  /** A deviation. */
  scenario?: SignInScenario;
  delay_ms?: number;
}

/** An isolated backend with its own URL, keys, database, clock, messages and settings. */
export class World implements AsyncDisposable {
  /** The id, a part of the URL. */
  readonly id: string;
  /** The URL that `createClient` takes as the project's URL. */
  readonly url: string;
  /** The key for clients. */
  readonly publishableKey: string;
  /** The key that may do everything. */
  readonly secretKey: string;
  /** The older form of the key for clients. */
  readonly anonKey: string;
  /** The older form of the key that may do everything. */
  readonly serviceRoleKey: string;
  /** The secret of tokens that are signed with HS256. */
  readonly jwtSecret: string;
  /** The URL of the database by its socket. */
  readonly databaseUrl: string;
  /** The URL of the database by TCP. */
  readonly databaseUrlTcp: string;
  /** The key under which clients store the session: all worlds share a host, from which supabase-js derives it. */
  readonly storageKey: string;

  /** The clock. */
  readonly clock: WorldClock;
  /** E-mails and SMS. */
  readonly messages: WorldMessages;
  /** Users without sign-up. */
  readonly users: WorldUsers;
  /** Sessions without a sign-in. */
  readonly sessions: WorldSessions;
  /** A software passkey authenticator. */
  readonly passkeys: WorldPasskeys;
  /** Faults. */
  readonly faults: WorldFaults;
  /** Requests, decisions, audit entries and messages. */
  readonly events: WorldEvents;

  private readonly api: TestApi;

  constructor(
    private readonly root: TestApi,
    description: WorldDescription,
  ) {
    this.id = description.id;
    this.url = description.url;
    this.publishableKey = description.publishable_key;
    this.secretKey = description.secret_key;
    this.anonKey = description.anon_key;
    this.serviceRoleKey = description.service_role_key;
    this.jwtSecret = description.jwt_secret;
    this.databaseUrl = description.database_url;
    this.databaseUrlTcp = description.database_url_tcp;
    this.storageKey = description.storage_key;
    this.api = root.below(`/worlds/${encodeURIComponent(this.id)}`);
    this.clock = new WorldClock(this.api);
    this.messages = new WorldMessages(this.api);
    this.users = new WorldUsers(this.api);
    this.sessions = new WorldSessions(this.api);
    this.passkeys = new WorldPasskeys(this.api);
    this.faults = new WorldFaults(this.api);
    this.events = new WorldEvents(this.api);
  }

  /** Returns a client of supabase-js without a session; each call returns another one. */
  client(options?: ClientOptions): SupabaseClient {
    return createWorldClient(this.url, this.publishableKey, this.storageKey, options);
  }

  /** Returns a client with the secret key, for `auth.admin`. */
  admin(): SupabaseClient {
    return createWorldClient(this.url, this.secretKey, `${this.storageKey}-admin`, {
      auth: { persistSession: false },
    });
  }

  /** Returns the code that an authenticator application shows for this secret. */
  async totp(secret: string): Promise<TotpCode> {
    return await this.api.call("POST", "/authenticators/totp", { body: { secret } });
  }

  /** Providers of the simulator. */
  readonly providers = {
    /** Determines the next sign-in at a provider: its user, an error or a scenario. */
    next: async (provider: string, signIn: NextSignIn): Promise<void> => {
      const path = `/providers/${encodeURIComponent(provider)}/next`;
      await this.api.call("POST", path, { body: signIn });
    },
  };

  /** Settings at run time. */
  readonly config = {
    /** Returns the settings in the shape of `config.toml`. */
    get: async (): Promise<Settings> => await this.api.call("GET", "/config"),
    /** Changes settings; `change` is a JSON merge patch (RFC 7396). Users and sessions stay. */
    patch: async (change: SettingsChange): Promise<Settings> =>
      await this.api.call("PATCH", "/config", { body: change }),
  };

  /** Returns to the state after the creation. */
  async reset(): Promise<void> {
    await this.api.call("POST", "/reset");
  }

  /** Creates a world with the complete state of this one. */
  async fork(name?: string): Promise<World> {
    const body = name === undefined ? {} : { name };
    return new World(this.root, await this.api.call("POST", "/fork", { body }));
  }

  /** Stores the state under a name, for `restore` and for `basalt.world({ from: name })`. */
  async snapshot(name: string): Promise<void> {
    await this.api.call("POST", `/snapshots/${encodeURIComponent(name)}`);
  }

  /** Returns to a stored state. */
  async restore(name: string): Promise<void> {
    await this.api.call("POST", `/snapshots/${encodeURIComponent(name)}/restore`);
  }

  /** Deletes a stored state. */
  async deleteSnapshot(name: string): Promise<void> {
    await this.api.call("DELETE", `/snapshots/${encodeURIComponent(name)}`);
  }

  /** Deletes the world. */
  async delete(): Promise<void> {
    await this.api.call("DELETE").catch((error: unknown) => {
      const isGone = error instanceof BasaltError && error.status === 404;
      if (!isGone) throw error;
    });
  }

  /** Deletes the world at the end of an `await using` block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.delete();
  }
}
