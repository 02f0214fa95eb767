/** The one-time link of the first owner, of one whom another added, or of one who cannot sign in. */
export interface AccessLink {
  kind: "setup" | "invite" | "reset";
  token: string;
}

/** Returns the one-time link, whose token is in the fragment, and removes it from the address. */
export function takeAccessLink(): AccessLink | undefined {
  const link = accessLinkOf(location.hash);
  if (link) history.replaceState(history.state, "", location.pathname);
  return link;
}

/** Returns the link of a fragment of the form `#setup=TOKEN`, `#invite=TOKEN` or `#reset=TOKEN`. */
export function accessLinkOf(fragment: string): AccessLink | undefined {
  const parameters = new URLSearchParams(fragment.replace(/^#/, ""));
  for (const kind of ["setup", "invite", "reset"] as const) {
    const token = parameters.get(kind);
    if (token) return { kind, token };
  }
  return undefined;
}
