/** Sends a code to the address. */
export async function requestCode(supabase, email) {
  const { error } = await supabase.auth.signInWithOtp({ email });
  if (error) throw error;
}

/** Signs in with the code of the mail; returns the address of the user. */
export async function enterCode(supabase, email, token) {
  const { data, error } = await supabase.auth.verifyOtp({ email, token, type: "email" });
  if (error) throw error;
  return data.user?.email;
}
