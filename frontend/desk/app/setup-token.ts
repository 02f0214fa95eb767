/** Returns the token of the one-time link, which is in the fragment, and removes it from the address. */
export function takeSetupToken(): string | undefined {
  const token = setupTokenOf(location.hash);
  if (token !== undefined) history.replaceState(history.state, "", location.pathname);
  return token;
}

/** Returns the token of a fragment of the form `#setup=TOKEN`. */
export function setupTokenOf(fragment: string): string | undefined {
  return new URLSearchParams(fragment.replace(/^#/, "")).get("setup") || undefined;
}
