import { createClient, type Session } from "@supabase/supabase-js";
import { type FormEvent, StrictMode, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

/** The server's URL and key, which the test passes by the URL of the page and which stay for its session. */
const given = new URLSearchParams(location.search);
const url = given.get("server") ?? sessionStorage.getItem("server") ?? "";
const key = given.get("key") ?? sessionStorage.getItem("key") ?? "";
sessionStorage.setItem("server", url);
sessionStorage.setItem("key", key);

const supabase = createClient(url, key, {
  auth: { flowType: "pkce", experimental: { passkey: true } },
});

type Outcome = { error: { message: string } | null };

/** An application with every sign-in of the test. */
function App() {
  const [session, setSession] = useState<Session | null>(null);
  const [status, setStatus] = useState("");
  useEffect(() => {
    const { data } = supabase.auth.onAuthStateChange((_event, next) => setSession(next));
    return () => data.subscription.unsubscribe();
  }, []);
  async function report(done: string, pending: Promise<Outcome>) {
    setStatus("");
    const { error } = await pending;
    setStatus(error ? `Error: ${error.message}` : done);
  }
  return (
    <main>
      <h1>{session ? `Signed in as ${session.user.email}` : "Signed out"}</h1>
      {session ? <Account report={report} /> : <SignIn report={report} />}
      <p role="status">{status}</p>
    </main>
  );
}

type Props = { report: (done: string, pending: Promise<Outcome>) => Promise<void> };

function SignIn({ report }: Props) {
  const emailRedirectTo = `${location.origin}/`;
  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const email = String(form.get("email"));
    const password = String(form.get("password"));
    const options = { emailRedirectTo };
    if (password) {
      await report("Mail sent", supabase.auth.signUp({ email, password, options }));
    } else {
      await report("Mail sent", supabase.auth.signInWithOtp({ email, options }));
    }
  }
  async function signInAtProvider() {
    const { data, error } = await supabase.auth.signInWithOAuth({
      provider: "github",
      options: { redirectTo: emailRedirectTo, skipBrowserRedirect: true },
    });
    return { error: error ?? { message: data.url ?? "" } };
  }
  return (
    <form onSubmit={submit}>
      <input name="email" aria-label="E-mail" />
      <input name="password" aria-label="Password" type="password" />
      <button type="submit">Send</button>
      <button type="button" onClick={() => report("Done", supabase.auth.signInWithPasskey())}>
        Passkey
      </button>
      <button type="button" onClick={() => report("", signInAtProvider())}>
        GitHub
      </button>
    </form>
  );
}

function Account({ report }: Props) {
  const [factor, setFactor] = useState({ id: "", secret: "" });
  async function enrol() {
    const { data, error } = await supabase.auth.mfa.enroll({ factorType: "totp" });
    if (data) setFactor({ id: data.id, secret: data.totp.secret });
    return { error };
  }
  async function verify(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const code = String(new FormData(event.currentTarget).get("code"));
    await report("Verified", supabase.auth.mfa.challengeAndVerify({ factorId: factor.id, code }));
  }
  return (
    <section>
      <button type="button" onClick={() => report("Checked", supabase.auth.getUser())}>
        Check
      </button>
      <button type="button" onClick={() => report("Enrolled", enrol())}>
        Enrol
      </button>
      <code>{factor.secret}</code>
      <form onSubmit={verify}>
        <input name="code" aria-label="Code" />
        <button type="submit">Verify</button>
      </form>
      <button type="button" onClick={() => report("Registered", supabase.auth.registerPasskey())}>
        Register passkey
      </button>
      <button type="button" onClick={() => supabase.auth.signOut()}>
        Sign out
      </button>
    </section>
  );
}

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
