import type { Result } from "../../src/shared/result.ts";
import type { AuthApi, Authorization, Decision, Failure } from "./api.ts";
import {
  errorMessage,
  isUnauthenticated,
  NO_REQUEST,
  requestProblem,
  safeRedirect,
  UNSAFE_REDIRECT,
} from "./model.ts";
import { clearSession, isExpired, loadSession, type Session, saveSession } from "./session.ts";
import {
  type ErrorPlace,
  type FieldName,
  findElement,
  findField,
  isBusy,
  setBusy,
  showAuthorization,
  showError,
  showProblem,
  showRedirect,
  showScreen,
} from "./view.ts";

/** A decision is not accepted this soon after the page came into view: the click may be meant for another window. */
const SETTLING_MS = 500;

/** What the page needs from its surroundings. */
export interface ConsentOptions {
  /** The parameter `authorization_id`; empty if there is none. */
  authorizationId: string;
  api: AuthApi;
  /** Sends the browser to an address, in place of this page in the history. */
  redirect: (address: string) => void;
}

/** Controls the consent page: signs the user in, shows the request of an app, submits the decision. */
export class ConsentPage {
  readonly #options: ConsentOptions;
  #shownAt = performance.now();

  constructor(options: ConsentOptions) {
    this.#options = options;
  }

  /** Listens to the page and shows the request. */
  start(): Promise<void> {
    window.addEventListener("focus", () => this.#restartSettling());
    document.addEventListener("visibilitychange", () => this.#restartSettling());
    this.#onSubmit("sign-in-form", () => this.#signInWithPassword());
    this.#onSubmit("code-form", () => this.#signInWithCode());
    this.#onClick("mail-code", () => this.#sendCode());
    this.#onClick("other-way", async () => showScreen("sign-in"));
    this.#onClick("not-you", () => this.#signOut());
    this.#onClick("again", () => this.#showRequest());
    this.#onDecision("approve");
    this.#onDecision("deny");
    return this.#run(() => this.#showRequest());
  }

  /** Shows the request, or redirects if the user has approved the same before. */
  async #showRequest(): Promise<void> {
    const { api, authorizationId } = this.#options;
    if (!authorizationId) {
      showProblem(NO_REQUEST);
      return;
    }
    const session = await this.#validSession();
    if (!session) {
      showScreen("sign-in");
      return;
    }
    const authorization = await api.getAuthorization(authorizationId, session);
    if (authorization.ok) {
      if ("redirect_url" in authorization.value) this.#leave(authorization.value.redirect_url);
      else this.#showAuthorization(authorization.value);
    } else if (isUnauthenticated(authorization.error)) {
      clearSession();
      showScreen("sign-in");
      showError("sign-in", "You are not signed in any more. Sign in again.");
    } else {
      showProblem(requestProblem(authorization.error));
    }
  }

  #showAuthorization(authorization: Authorization): void {
    showAuthorization(authorization);
    this.#restartSettling();
  }

  #restartSettling(): void {
    this.#shownAt = performance.now();
  }

  async #decide(action: Decision): Promise<void> {
    const { api, authorizationId } = this.#options;
    const result = await api.decide(authorizationId, action, await this.#validSession());
    if (result.ok) this.#leave(result.value.redirect_url);
    else if (isUnauthenticated(result.error)) await this.#showRequest();
    else if (result.error.status === 400 || result.error.status === 404) {
      showProblem(requestProblem(result.error));
    } else {
      showError("question", errorMessage(result.error));
    }
  }

  #leave(address: string): void {
    const target = safeRedirect(address);
    if (!target) {
      showProblem(UNSAFE_REDIRECT);
      return;
    }
    showRedirect(target);
    this.#options.redirect(target.href);
  }

  async #signInWithPassword(): Promise<void> {
    const [email, password] = [findField("email").value.trim(), findField("password").value];
    if (!email) return showError("sign-in", "Write your e-mail address.", ["email"]);
    if (!password) {
      return showError("sign-in", "Write your password, or have a code mailed.", ["password"]);
    }
    const result = await this.#options.api.signInWithPassword(email, password);
    await this.#finishSignIn(result, "sign-in", ["password", "email"]);
  }

  async #sendCode(): Promise<void> {
    const email = findField("email").value.trim();
    if (!email) {
      return showError("sign-in", "Write the e-mail address that the code goes to.", ["email"]);
    }
    const result = await this.#options.api.sendCode(email);
    if (!result.ok) return showError("sign-in", errorMessage(result.error), ["email"]);
    findElement("mailed-to").textContent = email;
    showScreen("mailed");
  }

  async #signInWithCode(): Promise<void> {
    const code = findField("code").value.replace(/\s/g, "");
    if (!code) return showError("code", "Write the code from the mail.", ["code"]);
    const result = await this.#options.api.verifyCode(findField("email").value.trim(), code);
    await this.#finishSignIn(result, "code", ["code"]);
  }

  async #finishSignIn(
    result: Result<Session, Failure>,
    place: ErrorPlace,
    fields: FieldName[],
  ): Promise<void> {
    if (!result.ok) return showError(place, errorMessage(result.error), fields);
    saveSession(result.value);
    findField("password").value = "";
    findField("code").value = "";
    await this.#showRequest();
  }

  async #signOut(): Promise<void> {
    await this.#options.api.signOut(loadSession());
    clearSession();
    showScreen("sign-in");
  }

  /** Returns the session of this tab, renewed if it has expired. */
  async #validSession(): Promise<Session | null> {
    const session = loadSession();
    if (!session || !isExpired(session, Date.now())) return session;
    const renewed = await this.#options.api.refreshSession(session);
    if (renewed.ok) saveSession(renewed.value);
    else clearSession();
    return loadSession();
  }

  /** Runs one piece of work at a time. */
  async #run(work: () => Promise<void>): Promise<void> {
    if (isBusy()) return;
    setBusy(true);
    try {
      await work();
    } finally {
      setBusy(false);
    }
  }

  #onClick(id: string, work: () => Promise<void>): void {
    findElement(id).addEventListener("click", () => this.#run(work));
  }

  #onSubmit(id: string, work: () => Promise<void>): void {
    findElement(id).addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#run(work);
    });
  }

  #onDecision(action: Decision): void {
    findElement(action).addEventListener("click", () => {
      if (performance.now() - this.#shownAt > SETTLING_MS) {
        void this.#run(() => this.#decide(action));
      }
    });
  }
}
