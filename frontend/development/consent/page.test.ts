import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fireEvent, screen } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { AuthApi, Failure } from "./api.ts";
import { ConsentPage } from "./page.ts";
import { loadSession, type Session, saveSession } from "./session.ts";

const HTML = readFileSync(join(import.meta.dirname, "page.html"), "utf8");
const SESSION: Session = { access_token: "a", refresh_token: "r", expires_at: 4_000_000_000 };
const EXPIRED: Session = { ...SESSION, expires_at: 1 };
const REDIRECT = { redirect_url: "https://app.example/callback?code=1" };
const AUTHORIZATION = {
  redirect_uri: "https://app.example/callback",
  client: { name: "Shop app" },
  user: { id: "u", email: "ann@example.com" },
  scope: "openid email",
};

const api = {
  signInWithPassword: vi.fn<AuthApi["signInWithPassword"]>(),
  sendCode: vi.fn<AuthApi["sendCode"]>(),
  verifyCode: vi.fn<AuthApi["verifyCode"]>(),
  refreshSession: vi.fn<AuthApi["refreshSession"]>(),
  signOut: vi.fn<AuthApi["signOut"]>(),
  getAuthorization: vi.fn<AuthApi["getAuthorization"]>(),
  decide: vi.fn<AuthApi["decide"]>(),
};
const redirect = vi.fn<(address: string) => void>();

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] });
  document.body.innerHTML = /<body>(.*)<\/body>/s.exec(HTML)?.[1] ?? "";
  api.getAuthorization.mockResolvedValue(success(AUTHORIZATION));
});

afterEach(() => {
  vi.useRealTimers();
  vi.resetAllMocks();
});

function success<Value>(value: Value) {
  return { ok: true as const, value };
}

function failure(status: number, more: Partial<Failure> = {}) {
  return { ok: false as const, error: { status, ...more } };
}

function open(authorizationId = "1"): Promise<void> {
  return new ConsentPage({ authorizationId, api, redirect }).start();
}

function heading(): string {
  const shown = [...document.querySelectorAll("section")].filter((section) => !section.hidden);
  expect(shown).toHaveLength(1);
  return shown[0]?.querySelector("h1")?.textContent ?? "";
}

function text(id: string): string {
  return document.getElementById(id)?.textContent ?? "";
}

function write(label: string, value: string): void {
  fireEvent.change(screen.getByLabelText(label), { target: { value } });
}

function press(id: string): void {
  fireEvent.click(document.getElementById(id) as HTMLElement);
}

function submit(id: string): void {
  fireEvent.submit(document.getElementById(id) as HTMLElement);
}

function settle(): void {
  vi.advanceTimersByTime(501);
}

describe("opening the page", () => {
  test("without a request shows that there is none", async () => {
    await open("");
    expect(heading()).toBe("Nothing is asked here");
    expect(document.getElementById("again")?.hidden).toBe(true);
  });

  test("without a session asks for a sign-in", async () => {
    await open();
    expect(heading()).toBe("Sign in");
    expect(document.title).toBe("Sign in");
    expect(document.activeElement?.textContent).toBe("Sign in");
    expect(api.getAuthorization).not.toHaveBeenCalled();
  });

  test("with a session shows the request as text", async () => {
    saveSession(SESSION);
    const name = "<img src=x>";
    api.getAuthorization.mockResolvedValue(success({ ...AUTHORIZATION, client: { name } }));
    await open();
    expect(heading()).toBe("Let <img src=x> use your account?");
    expect(text("who")).toBe("ann@example.com");
    expect(text("target")).toBe("https://app.example");
    expect(screen.getAllByRole("listitem").map((row) => row.textContent)).toEqual([
      "to know which account here is yours",
      "your e-mail address",
    ]);
    expect(document.querySelector("img")).toBeNull();
  });

  test("names an app without a name, and a user without an address", async () => {
    saveSession(SESSION);
    const unnamed = { ...AUTHORIZATION, client: { name: "" }, user: { id: "u", email: "" } };
    api.getAuthorization.mockResolvedValue(success(unnamed));
    await open();
    expect([text("client"), text("who")]).toEqual(["an app without a name", "u"]);
  });

  test("redirects a user who approved the same before", async () => {
    saveSession(SESSION);
    api.getAuthorization.mockResolvedValue(success(REDIRECT));
    await open();
    expect(redirect).toHaveBeenCalledExactlyOnceWith(REDIRECT.redirect_url);
    expect(document.getElementById("onward")?.getAttribute("href")).toBe(REDIRECT.redirect_url);
  });

  test("renews an expired session", async () => {
    saveSession(EXPIRED);
    api.refreshSession.mockResolvedValue(success(SESSION));
    await open();
    expect(api.getAuthorization).toHaveBeenCalledExactlyOnceWith("1", SESSION);
    expect(loadSession()).toEqual(SESSION);
  });

  test("asks for a sign-in when the session cannot be renewed", async () => {
    saveSession(EXPIRED);
    api.refreshSession.mockResolvedValue(failure(400));
    await open();
    expect(heading()).toBe("Sign in");
    expect(loadSession()).toBeNull();
  });

  test("asks for a sign-in when the server does not accept the session", async () => {
    saveSession(SESSION);
    api.getAuthorization.mockResolvedValue(failure(401));
    await open();
    expect(heading()).toBe("Sign in");
    expect(text("sign-in-error")).toBe("You are not signed in any more. Sign in again.");
    expect(loadSession()).toBeNull();
  });

  test("can be repeated when the server did not answer", async () => {
    saveSession(SESSION);
    api.getAuthorization.mockResolvedValueOnce(failure(0));
    await open();
    expect(heading()).toBe("That did not work");
    press("again");
    await expect.poll(heading).toBe("Let Shop app use your account?");
  });
});

describe("signing in", () => {
  test.each([
    ["", "", "Write your e-mail address.", "email"],
    ["ann@example.com", "", "Write your password, or have a code mailed.", "password"],
  ])("with '%s' and '%s' is refused at the field", async (email, password, message, field) => {
    await open();
    write("E-mail address", email);
    write("Password", password);
    submit("sign-in-form");
    expect(text("sign-in-error")).toBe(message);
    expect(document.activeElement?.id).toBe(field);
    expect(document.getElementById(field)?.getAttribute("aria-invalid")).toBe("true");
    expect(api.signInWithPassword).not.toHaveBeenCalled();
  });

  test("by password shows the request and empties the field", async () => {
    api.signInWithPassword.mockResolvedValue(success(SESSION));
    await open();
    write("E-mail address", " ann@example.com ");
    write("Password", " secret ");
    submit("sign-in-form");
    await expect.poll(heading).toBe("Let Shop app use your account?");
    expect(api.signInWithPassword).toHaveBeenCalledExactlyOnceWith("ann@example.com", " secret ");
    expect((document.getElementById("password") as HTMLInputElement).value).toBe("");
    expect(loadSession()).toEqual(SESSION);
  });

  test("with a wrong password shows a message and no tokens are stored", async () => {
    api.signInWithPassword.mockResolvedValue(failure(400, { code: "invalid_credentials" }));
    await open();
    write("E-mail address", "ann@example.com");
    write("Password", "wrong");
    submit("sign-in-form");
    await expect.poll(() => text("sign-in-error")).toMatch(/do not belong together/);
    expect(document.activeElement?.id).toBe("password");
    expect(loadSession()).toBeNull();
  });

  test("by code sends it, then verifies it without spaces", async () => {
    api.sendCode.mockResolvedValue(success({}));
    api.verifyCode.mockResolvedValue(success(SESSION));
    await open();
    write("E-mail address", "ann@example.com");
    press("mail-code");
    await expect.poll(heading).toBe("Look into your mail");
    expect(text("mailed-to")).toBe("ann@example.com");
    await idle();
    submit("code-form");
    await expect.poll(() => text("code-error")).toBe("Write the code from the mail.");
    await idle();
    write("Code", "123 456");
    submit("code-form");
    await expect.poll(heading).toBe("Let Shop app use your account?");
    expect(api.verifyCode).toHaveBeenCalledExactlyOnceWith("ann@example.com", "123456");
  });

  test("out removes the session", async () => {
    saveSession(SESSION);
    api.signOut.mockResolvedValue(success({}));
    await open();
    press("not-you");
    await expect.poll(heading).toBe("Sign in");
    expect(api.signOut).toHaveBeenCalledExactlyOnceWith(SESSION);
    expect(sessionStorage.length).toBe(0);
  });
});

describe("a decision", () => {
  beforeEach(async () => {
    saveSession(SESSION);
    await open();
  });

  test.each(["approve", "deny"] as const)("to %s is sent, then the browser", async (action) => {
    api.decide.mockResolvedValue(success(REDIRECT));
    settle();
    press(action);
    await expect.poll(() => redirect.mock.calls).toEqual([[REDIRECT.redirect_url]]);
    expect(api.decide).toHaveBeenCalledExactlyOnceWith("1", action, SESSION);
  });

  test("is ignored when the page has just come into view", async () => {
    press("approve");
    await idle();
    settle();
    window.dispatchEvent(new Event("focus"));
    press("approve");
    await idle();
    expect(api.decide).not.toHaveBeenCalled();
  });

  test("is sent once for two clicks, and announced", async () => {
    let finish: (value: ReturnType<typeof failure>) => void = () => undefined;
    api.decide.mockReturnValue(
      new Promise((resolve) => {
        finish = resolve;
      }),
    );
    settle();
    press("approve");
    press("deny");
    expect(text("busy")).toBe("Just a moment…");
    await expect.poll(() => api.decide.mock.calls.length).toBe(1);
    finish(failure(500));
    await expect.poll(() => text("question-error")).toMatch(/Something broke/);
    await idle();
    expect(api.decide).toHaveBeenCalledOnce();
  });

  test.each([
    [400, "This request was answered already"],
    [404, "This request is over"],
  ])("refused with %i shows why", async (status, title) => {
    api.decide.mockResolvedValue(failure(status));
    settle();
    press("approve");
    await expect.poll(heading).toBe(title);
  });

  test("without a valid session leads to the sign-in", async () => {
    api.decide.mockResolvedValue(failure(401));
    api.getAuthorization.mockResolvedValue(failure(401));
    settle();
    press("approve");
    await expect.poll(heading).toBe("Sign in");
  });

  test("is not followed to an unsafe address", async () => {
    api.decide.mockResolvedValue(success({ redirect_url: "javascript:alert(1)" }));
    settle();
    press("approve");
    await expect.poll(heading).toBe("This app cannot be gone back to");
    expect(redirect).not.toHaveBeenCalled();
  });
});

test("the policy of the page holds: no inline script, style or event handler", () => {
  expect(HTML.match(/<script\b[^>]*>/g)).toEqual([
    '<script type="module" src="/_dev/consent/page.js">',
  ]);
  expect(HTML).not.toMatch(/<style|\sstyle=|\son[a-z]+=/i);
});

/** Resolves once the page accepts the next action. */
async function idle(): Promise<void> {
  await expect.poll(() => text("busy")).toBe("");
}
