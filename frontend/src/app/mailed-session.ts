import type { DataRouter } from "react-router-dom";
import { loadClient } from "../shared/supabase.ts";

const MAILED = /[#&](access_token|refresh_token|error|error_code)=/;

/**
 * Consumes the session, or the error, that a mailed link put into the fragment of the address, and
 * cleans the address. The client reads the fragment when it is created.
 */
export async function consumeMailedSession(router: DataRouter): Promise<void> {
  if (!MAILED.test(location.hash)) return;
  try {
    const client = await loadClient();
    const { error } = await client.auth.getSession();
    if (error) console.error("The session of the link cannot be used:", error);
  } catch (error) {
    console.error("The session of the link cannot be read:", error);
  } finally {
    const { pathname, search } = location;
    await router.navigate(
      { pathname, search, hash: "" },
      { replace: true, preventScrollReset: true },
    );
  }
}
