/** A kind of characters of which a password needs at least one. */
interface PasswordKind {
  kind: string;
  /** The characters of an unusual kind. */
  characters?: string | undefined;
}

/** What a new password needs, as far as it is known. */
export interface PasswordRule {
  minLength?: number | undefined;
  kinds?: PasswordKind[] | undefined;
  /** Whether passwords of lists of stolen ones are refused. */
  isLookedUp?: boolean | undefined;
}

const NAMES: Record<string, string> = {
  small_letter: "a small letter",
  capital_letter: "a capital letter",
  letter: "a letter",
  digit: "a digit",
  symbol: "a symbol such as ! ? # %",
};

/** Tells the whole rule before a password is refused. */
export function describePasswordRule({ minLength, kinds = [], isLookedUp }: PasswordRule): string {
  const names = kinds.map(({ kind, characters }) => NAMES[kind] ?? `one of ${characters}`);
  const listed = [names.slice(0, -1).join(", "), ...names.slice(-1)].filter(Boolean).join(" and ");
  return [
    minLength && `At least ${minLength} characters.`,
    listed && `Among them ${listed}.`,
    isLookedUp && "It must not be in a list of stolen passwords.",
    "A long sentence is easy to remember and hard to guess.",
  ]
    .filter(Boolean)
    .join(" ");
}
