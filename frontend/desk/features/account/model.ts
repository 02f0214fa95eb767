const BROWSERS = [
  ["Edg/", "Edge"],
  ["Firefox/", "Firefox"],
  ["Chrome/", "Chrome"],
  ["Safari/", "Safari"],
] as const;

const SYSTEMS = ["iPhone", "iPad", "Android", "Windows", "Macintosh", "Linux"];

/** Returns browser and system of a user agent, such as `Firefox on Windows`. */
export function describeBrowser(userAgent: string): string {
  const browser = BROWSERS.find(([part]) => userAgent.includes(part))?.[1];
  const system = SYSTEMS.find((part) => userAgent.includes(part))?.replace("Macintosh", "Mac");
  if (!browser) return system ?? "Unknown browser";
  return system ? `${browser} on ${system}` : browser;
}

const ACTIONS: Record<string, string> = {
  sign_in: "Signed in",
  sign_in_failed: "Sign-in refused",
  sign_out: "Signed out",
  code_failed: "Wrong code at the sign-in",
  passkey_failed: "Passkey refused",
  password_failed: "Wrong password for a change",
  password_changed: "Changed the password",
  email_changed: "Changed the email address",
  authenticator_replaced: "Replaced the authenticator app",
  passkey_registered: "Added a passkey",
  passkey_deleted: "Removed a passkey",
  recovery_code_used: "Signed in with a recovery code",
  recovery_code_failed: "Wrong recovery code",
  recovery_codes_kept: "Kept the recovery codes",
  recovery_codes_replaced: "Made new recovery codes",
  sessions_ended: "Ended the other sessions",
  owner_added: "Added an owner",
  owner_removed: "Removed an owner",
  setup: "Set up the desk",
  setup_failed: "Setup link refused",
  reset: "Chose a password by a link",
  reset_failed: "Link for a new password refused",
  "order.export": "Exported the orders",
  "order.deliver_held": "Delivered a held payment",
  "order.dismiss_held": "Dismissed a held payment",
  "order.resend": "Sent a new download link",
  "order.change_address": "Sent a new download link to another address",
  "order.refund": "Refunded an order",
  "order.refund_failed": "Refund failed",
  "submission.export": "Exported the submissions",
  "submission.delete": "Deleted submissions",
  "submission.status": "Changed the status of a submission",
  "submission.note": "Changed the notes of a submission",
  "submission.reply": "Replied to a submission",
  "submission.resend": "Sent a reply again",
  "catalogue.change": "Changed a template",
};

/** Actions whose subject says more to a reader than the action. */
const WITH_SUBJECT = new Set([
  "sign_in_failed",
  "email_changed",
  "owner_added",
  "owner_removed",
  "reset",
  "order.resend",
  "order.change_address",
  "order.refund",
  "order.refund_failed",
  "catalogue.change",
]);

/** Names what was done, such as `Refunded an order: #17`. */
export function describeEvent(action: string, subject: string | null | undefined): string {
  const name = ACTIONS[action] ?? action;
  if (action === "sign_in") return subject === "passkey" ? `${name} by passkey` : name;
  return subject && WITH_SUBJECT.has(action) ? `${name}: ${subject}` : name;
}

/** Whether somebody was kept out. */
export function isRefusal(action: string): boolean {
  return action.endsWith("_failed") && !action.startsWith("order.");
}
