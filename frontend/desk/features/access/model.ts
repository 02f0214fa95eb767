/** Returns the six digits of an entered code, which may contain spaces and hyphens. */
export function codeOf(entered: string): string | undefined {
  const digits = entered.replace(/[\s-]/g, "");
  return /^\d{6}$/.test(digits) ? digits : undefined;
}

/** Returns an entered recovery code without spaces and hyphens. */
export function recoveryCodeOf(entered: string): string | undefined {
  const plain = entered.replace(/[\s-]/g, "").toLowerCase();
  return /^[a-z2-7]{16}$/.test(plain) ? plain : undefined;
}
