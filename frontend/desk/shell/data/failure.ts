/** What went wrong with a request, as far as the screens treat it differently. */
type FailureKind =
  | "signed-out"
  | "forbidden"
  | "missing"
  | "refused"
  | "limited"
  | "busy"
  | "offline"
  | "unexpected";

/** Why a request failed. */
export interface Failure {
  kind: FailureKind;
  /** The code of the server, or one of `no_answer` and `unknown_answer`. */
  code: string;
  message: string;
  /** What the server suggests. */
  hint?: string | undefined;
  /** Milliseconds since 1970 before which the server does not want another attempt. */
  retryAt?: number | undefined;
}

/** Returns a headline and what to do next. */
export function describeFailure(failure: Failure): { title: string; advice: string } {
  const { kind, message, hint } = failure;
  switch (kind) {
    case "signed-out":
      return { title: "You are signed out", advice: "Sign in to continue." };
    case "forbidden":
      return {
        title: "This is not allowed",
        advice: hint ?? "Reload the page. If that does not help, sign out and in again.",
      };
    case "missing":
      return {
        title: "This no longer exists",
        advice: hint ?? "It was deleted, or the address is wrong. Go back to the list.",
      };
    case "limited":
      return { title: message, advice: hint ?? "Wait until the time is over and try again." };
    case "busy":
      return {
        title: "The server is busy",
        advice: hint ?? "Nothing is lost. Wait until the time is over and try again.",
      };
    case "offline":
      return {
        title: "The server cannot be reached",
        advice: "Check the connection and try again. Nothing is lost.",
      };
    case "refused":
      return { title: message, advice: hint ?? "Correct it and try again." };
    case "unexpected":
      return {
        title: "The server could not do this",
        advice:
          hint ?? `Try again. If it happens again, look at the server's log (${failure.code}).`,
      };
  }
}
