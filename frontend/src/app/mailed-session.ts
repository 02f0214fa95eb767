import { loadClient } from "../shared/supabase.ts";
import type { MailedSession } from "./mailed-fragment.ts";

/** Signs in with the session of a mailed link. */
export async function enterMailedSession({ tokens }: MailedSession): Promise<void> {
  if (!tokens) return;
  try {
    const client = await loadClient();
    const { error } = await client.auth.setSession(tokens);
    if (error) console.error("The session of the link cannot be used:", error);
  } catch (error) {
    console.error("The session of the link cannot be used:", error);
  }
}
