import type { Authorization } from "./api.ts";
import { displayedTarget, type RequestProblem, scopeDescriptions } from "./model.ts";

const SCREENS = ["waiting", "sign-in", "mailed", "question", "leaving", "failed"] as const;

/** A section of the page; one is shown at a time. */
export type Screen = (typeof SCREENS)[number];

/** A part of the page with an error message of its own. */
export type ErrorPlace = "sign-in" | "code" | "question";

/** An input of the page. */
export type FieldName = "email" | "password" | "code";

const BUSY_MESSAGE = "Just a moment…";

/** Returns the element with this id. Throws if `page.html` has none. */
export function findElement(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no #${id}`);
  return element;
}

/** Returns an input. */
export function findField(name: FieldName): HTMLInputElement {
  const field = findElement(name);
  if (!(field instanceof HTMLInputElement)) throw new Error(`#${name} is no input`);
  return field;
}

/** Shows one screen, clears all messages, and moves the focus of screen readers to its heading. */
export function showScreen(name: Screen): void {
  for (const screen of SCREENS) findElement(screen).hidden = screen !== name;
  for (const message of document.querySelectorAll(".error")) message.textContent = "";
  const heading = findElement(name).querySelector("h1");
  document.title = heading?.textContent?.replace(/\s+/g, " ").trim() ?? "";
  heading?.focus();
}

/** Shows why there is no request to decide about. */
export function showProblem({ title, text, canRetry }: RequestProblem): void {
  findElement("failed-title").textContent = title;
  findElement("failed-text").textContent = text;
  findElement("again").hidden = !canRetry;
  showScreen("failed");
}

/** Shows an error message, marks the fields to check, and moves the focus to the first of them. */
export function showError(place: ErrorPlace, text: string, fields: FieldName[] = []): void {
  findElement(`${place}-error`).textContent = text;
  for (const input of document.querySelectorAll("input")) {
    input.setAttribute("aria-invalid", String(fields.some((name) => name === input.id)));
  }
  if (fields[0]) findField(fields[0]).focus();
}

/** Shows what an app requests and for which user. */
export function showAuthorization({ redirect_uri, client, user, scope }: Authorization): void {
  findElement("client").textContent = client.name || "an app without a name";
  findElement("who").textContent = user.email || user.id;
  findElement("target").textContent = displayedTarget(redirect_uri);
  const rows = scopeDescriptions(scope).map((description) => {
    const row = document.createElement("li");
    row.textContent = description;
    return row;
  });
  findElement("scopes").replaceChildren(...rows);
  showScreen("question");
}

/** Shows the link back to the app, for browsers that do not follow the redirect. */
export function showRedirect(target: URL): void {
  findElement("onward").setAttribute("href", target.href);
  showScreen("leaving");
}

/** Returns whether work is going on. */
export function isBusy(): boolean {
  return document.querySelector("main")?.getAttribute("aria-busy") === "true";
}

/** Announces that work begins or ends. */
export function setBusy(busy: boolean): void {
  document.querySelector("main")?.setAttribute("aria-busy", String(busy));
  findElement("busy").textContent = busy ? BUSY_MESSAGE : "";
}
