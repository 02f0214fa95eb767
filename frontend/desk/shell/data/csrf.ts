let token: string | undefined;

/** Sets the token that requests of the session repeat; it is kept in memory only. */
export function setCsrfToken(value: string | undefined): void {
  token = value;
}

/** Returns the token of the session. */
export function csrfToken(): string | undefined {
  return token;
}
