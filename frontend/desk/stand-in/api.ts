// A stand-in of the desk's API with invented data, for `npm run dev:desk`. The product does not contain it.
import { fail, ok, type StandInAnswer, type StandInRequest } from "./answer.ts";
import { answerCatalogue } from "./catalogue.ts";
import {
  account,
  activity,
  checklist,
  figures,
  held,
  message,
  orders,
  recoveryCodes,
  submissions,
} from "./data.ts";

const SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP";
const PAGE = 50;

const state = { isSignedIn: true, isSetup: false };
const passkeys = [
  {
    id: crypto.randomUUID(),
    name: "MacBook",
    created_at: new Date(Date.now() - 40 * 86_400_000).toISOString(),
    last_used_at: new Date(Date.now() - 7_200_000).toISOString(),
  },
];

const SESSION = () => ({
  user: { id: "1", email: "owner@shop.example" },
  csrf_token: "token",
  expires_at: new Date(Date.now() + 11 * 3_600_000).toISOString(),
  shop_name: "Basalt Shop",
  passkeys: true,
  factors: [{ id: "1", type: "totp", name: "app" }],
});

const TOTP = () => {
  const dots = Array.from({ length: 37 * 37 }, (_, dot) => dot).filter(
    (dot) => (dot * 2654435761) % 97 < 44,
  );
  const path = dots.map((dot) => `M${4 + (dot % 37)} ${4 + Math.floor(dot / 37)}h1v1h-1z`).join("");
  return {
    secret: SECRET,
    uri: `otpauth://totp/shop?secret=${SECRET}`,
    qr_svg: `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 45 45"><path fill="black" d="${path}"/></svg>`,
  };
};

/** Answers a request to `/_desk/api`. */
export function answer(request: StandInRequest): StandInAnswer {
  const path = request.url.pathname.replace("/_desk/api", "");
  const [, area = "", id = "", action = "", item = ""] = path.split("/");
  if (area === "stand-in") {
    Object.assign(state, request.body);
    return { status: 204 };
  }
  if (["session", "setup", "sign-in", "reset"].includes(area)) return answerSignIn(request, path);
  if (!state.isSignedIn) return fail(401, "desk_session_missing", "no session");
  if (area === "submissions") return answerSubmissions(request, [id, action, item]);
  if (area === "orders") return answerOrders(request, id, action);
  if (area === "catalogue") return answerCatalogue(request, id, action);
  if (area === "passkeys") return answerPasskeys(request, id);
  if (area === "account") return answerAccount(request, id, action);
  if (area === "checklist") return ok(checklist);
  if (area === "figures") {
    const get = (name: string) => request.url.searchParams.get(name) ?? "";
    return ok(figures(get("from"), get("to")));
  }
  return fail(404, "not_found", "no such path");
}

function answerSignIn({ method, body }: StandInRequest, path: string): StandInAnswer {
  if (path === "/session" && method === "DELETE") state.isSignedIn = false;
  if (path === "/session" && method === "DELETE") return { status: 204 };
  if (path === "/session" && state.isSignedIn) return ok(SESSION());
  if (path === "/session") {
    return { status: 401, content: { code: "desk_session_missing", setup: state.isSetup } };
  }
  if (path === "/setup" || path === "/reset") return ok({ ticket: "t", totp: TOTP() });
  if (path === "/sign-in" && body.password === "wrong") {
    return fail(401, "invalid_credentials", "Address or password is wrong");
  }
  if (path === "/sign-in" && body.password === "busy") {
    return { ...fail(429, "too_many", "Too many attempts"), headers: { "retry-after": "9" } };
  }
  if (path === "/sign-in") return ok({ ticket: "t", next: "totp" });
  if (body.code === "000000") {
    return fail(401, "invalid_code", "The code is wrong", "Enter the code that the app shows now");
  }
  state.isSignedIn = true;
  return ok(SESSION());
}

function answerSubmissions(request: StandInRequest, [id, action, item]: string[]): StandInAnswer {
  const { method, url, body } = request;
  if (id === "" && method === "GET") return listSubmissions(url.searchParams);
  if (id === "export") return ok(submissions);
  if (id === "delete") {
    const ids = body.ids as string[];
    for (const gone of ids)
      submissions.splice(
        submissions.findIndex((submission) => submission.id === gone),
        1,
      );
    return ok({ deleted: ids.length });
  }
  const found = submissions.find((submission) => submission.id === id);
  if (!found) return fail(404, "not_found", "the submission does not exist");
  const now = new Date().toISOString();
  if (method === "PATCH") found.status = String(body.status);
  if (action === "notes" && method === "DELETE") {
    found.notes = found.notes.filter((note) => note.id !== item);
    return { status: 204 };
  }
  if (action === "notes") {
    const text = String(body.text);
    found.notes.push({
      id: crypto.randomUUID(),
      text,
      author: "owner@shop.example",
      created_at: now,
    });
  }
  if (action === "reply") {
    const { to, subject, text } = body as Record<"to" | "subject" | "text", string>;
    const reply = message("reply", to, now, { subject, text, state: "waiting", sent_at: null });
    found.messages.push(reply);
    found.status = "answered";
    return ok({ message: reply }, 202);
  }
  const resent = found.messages.find((message) => message.id === item);
  if (action === "messages" && resent?.state !== "failed") {
    return fail(409, "message_not_failed", "The message was not given up");
  }
  if (action === "messages" && resent) resent.state = "waiting";
  return ok({ ...found, ...summary(found) });
}

function summary(submission: (typeof submissions)[number]) {
  const { messages } = submission;
  const has = (wanted: string) => messages.some((message) => message.state === wanted);
  return {
    replies: messages.filter((message) => message.kind === "reply").length,
    delivery: has("failed")
      ? "failed"
      : has("waiting")
        ? "waiting"
        : messages.length > 0
          ? "delivered"
          : "none",
  };
}

function listSubmissions(query: URLSearchParams): StandInAnswer {
  const get = (name: string) => query.get(name) ?? "";
  const matching = submissions.filter(
    ({ description, template, created_at: at }) =>
      description.toLowerCase().includes(get("search").toLowerCase()) &&
      (get("template") === "" || String(template?.id) === get("template")) &&
      (get("from") === "" || at.slice(0, 10) >= get("from")) &&
      (get("to") === "" || at.slice(0, 10) <= get("to")),
  );
  const count = (status: string) =>
    matching.filter((submission) => submission.status === status).length;
  const listed = matching.filter(({ status }) => ["", status].includes(get("status")));
  const [rows, next] = page(listed, get("before"));
  return ok({
    submissions: rows.map((submission) => ({ ...submission, ...summary(submission) })),
    counts: {
      new: count("new"),
      answered: count("answered"),
      closed: count("closed"),
      spam: count("spam"),
    },
    next,
  });
}

function answerOrders(request: StandInRequest, id: string, action: string): StandInAnswer {
  const { method, url, body } = request;
  const get = (name: string) => url.searchParams.get(name) ?? "";
  if (id === "held") return answerHeld(action);
  if (id === "") {
    const matching = orders.filter(
      ({ buyer_email: buyer, template, paid_at }) =>
        buyer.includes(get("search")) &&
        (get("from") === "" || paid_at.slice(0, 10) >= get("from")) &&
        (get("to") === "" || paid_at.slice(0, 10) <= get("to")) &&
        (get("template") === "" || String(template?.id) === get("template")),
    );
    const count = (wanted: string) => matching.filter((order) => order.state === wanted).length;
    const listed = matching.filter(({ state }) => ["", state].includes(get("state")));
    const [rows, next] = page(listed, get("before"));
    const counts = {
      paid: count("paid"),
      delivered: count("delivered"),
      refunded: count("refunded"),
    };
    return ok({ orders: rows, counts, next });
  }
  const found = orders.find((order) => order.id === id);
  if (!found) return fail(404, "not_found", "the order does not exist");
  if (action === "refund" && found.currency === "EUR") {
    return fail(502, "provider_refused", "PayPal refused the refund", "The balance is too low");
  }
  if (action === "resend" && body.email) Object.assign(found, { buyer_email: body.email });
  if (action === "refund") Object.assign(found, { state: "refunded", refunded_at: new Date() });
  return ok(found, method === "POST" ? 202 : 200);
}

function answerHeld(action: string): StandInAnswer {
  if (action !== "") held.splice(0, 1);
  return ok({ payments: held, templates: [{ id: 1, title: "Professional Newsletter" }] });
}

function answerAccount({ method }: StandInRequest, action: string, item: string): StandInAnswer {
  if (action === "recovery-codes") return answerRecoveryCodes(method, item);
  if (method === "GET") return ok(action === "activity" ? activity : account);
  if (action === "authenticator") return ok({ ticket: "t", totp: TOTP() });
  if (action === "owners" && method === "POST") return ok({ token: "a".repeat(43) });
  return { status: 204 };
}

function answerRecoveryCodes(method: string, item: string): StandInAnswer {
  if (method === "GET") return ok(recoveryCodes);
  if (item === "kept") {
    recoveryCodes.are_unconfirmed = false;
    return { status: 204 };
  }
  Object.assign(recoveryCodes, { left: 10, are_unconfirmed: true });
  const codes = Array.from({ length: 10 }, (_, code) => `abcd-efgh-ijkl-m${200 + code}`);
  return ok({ codes, made_at: new Date().toISOString() });
}

function answerPasskeys({ method }: StandInRequest, id: string): StandInAnswer {
  if (method === "GET") return ok({ passkeys });
  if (method === "DELETE") {
    passkeys.splice(
      passkeys.findIndex((passkey) => passkey.id === id),
      1,
    );
    return { status: 204 };
  }
  return fail(503, "unavailable", "The stand-in creates no passkeys");
}

function page<Row extends { id: string }>(rows: Row[], before: string): [Row[], string | null] {
  const start = before === "" ? 0 : Number(before);
  const end = start + PAGE;
  return [rows.slice(start, end), end < rows.length ? String(end) : null];
}
