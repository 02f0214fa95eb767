import { createClient, type Session } from "@supabase/supabase-js";
import { type FormEvent, useEffect, useState } from "react";

const supabase = createClient(import.meta.env.VITE_SUPABASE_URL, import.meta.env.VITE_SUPABASE_KEY);

/** An application with a sign-in by a mailed code. */
export function App() {
  const [session, setSession] = useState<Session | null>(null);
  useEffect(() => {
    const { data } = supabase.auth.onAuthStateChange((_event, next) => setSession(next));
    return () => data.subscription.unsubscribe();
  }, []);
  return session ? <Account email={session.user.email ?? ""} /> : <SignIn />;
}

function Account({ email }: { email: string }) {
  const [checked, setChecked] = useState("");
  async function check() {
    const { data, error } = await supabase.auth.getUser();
    setChecked(error ? error.message : `The server knows ${data.user.email}`);
  }
  return (
    <main>
      <h1>Signed in as {email}</h1>
      <button type="button" onClick={check}>
        Check
      </button>
      <button type="button" onClick={() => supabase.auth.signOut()}>
        Sign out
      </button>
      <p role="status">{checked}</p>
    </main>
  );
}

function SignIn() {
  const [email, setEmail] = useState("");
  const [isSent, setIsSent] = useState(false);
  const [problem, setProblem] = useState("");
  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const token = form.get("code");
    const { error } =
      typeof token === "string"
        ? await supabase.auth.verifyOtp({ email, token, type: "email" })
        : await supabase.auth.signInWithOtp({ email });
    setProblem(error?.message ?? "");
    if (!error) setIsSent(true);
  }
  return (
    <main>
      <h1>Sign in</h1>
      <form onSubmit={submit}>
        <label>
          E-mail
          <input type="email" value={email} onChange={(event) => setEmail(event.target.value)} />
        </label>
        {isSent && (
          <label>
            Code
            <input name="code" />
          </label>
        )}
        <button type="submit">{isSent ? "Sign in" : "Send code"}</button>
      </form>
      <p role="alert">{problem}</p>
    </main>
  );
}
