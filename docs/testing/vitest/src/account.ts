import type { SupabaseClient } from "@supabase/supabase-js";

/** The part of an application that the example tests. */
export class Account {
  constructor(private readonly supabase: SupabaseClient) {}

  /** Sends a code to the address. */
  async requestCode(email: string): Promise<void> {
    const { error } = await this.supabase.auth.signInWithOtp({ email });
    if (error) throw error;
  }

  /** Signs in with the code of the mail; returns the address of the user. */
  async enterCode(email: string, token: string): Promise<string | undefined> {
    const { data, error } = await this.supabase.auth.verifyOtp({ email, token, type: "email" });
    if (error) throw error;
    return data.user?.email;
  }

  /** Returns the address of the user; undefined if the session has ended. */
  async currentEmail(): Promise<string | undefined> {
    const { data } = await this.supabase.auth.getUser();
    return data.user?.email;
  }

  /** Signs in with a password, and tries once more if the server is overloaded. */
  async signIn(email: string, password: string): Promise<boolean> {
    const attempt = async () =>
      (await this.supabase.auth.signInWithPassword({ email, password })).error;
    let error = await attempt();
    if (error?.status === 503) error = await attempt();
    return error === null;
  }
}
