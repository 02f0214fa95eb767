import { formatTime, type Message, messageAddresses, messageTitle, openableLink } from "./model.ts";

/** How long a status is shown, in milliseconds. */
const STATUS_MS = 3000;

let statusTimer: ReturnType<typeof setTimeout> | undefined;

/** Returns the element with this id. Throws if `page.html` has none. */
export function findElement(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no #${id}`);
  return element;
}

/** Returns the search field. */
export function findSearch(): HTMLInputElement {
  const field = findElement("search");
  if (!(field instanceof HTMLInputElement)) throw new Error("#search is no input");
  return field;
}

/** Announces what happened; a lasting status stays until the next one. */
export function showStatus(text: string, isLasting = false): void {
  clearTimeout(statusTimer);
  findElement("status").textContent = text;
  if (text && !isLasting) statusTimer = setTimeout(() => showStatus(""), STATUS_MS);
}

/** Shows the list; the open message is marked. Keeps the focus on the same message. */
export function showList(messages: readonly Message[], openId: string | null, empty: string): void {
  const focused = document.activeElement?.closest<HTMLElement>("#list button")?.dataset.id;
  findElement("list").replaceChildren(...messages.map((message) => createItem(message, openId)));
  findElement("empty").textContent = messages.length === 0 ? empty : "";
  findElement("empty").hidden = messages.length > 0;
  if (focused) focusItem(focused);
}

/** Shows the number of unread messages. */
export function showUnread(count: number): void {
  const badge = findElement("unread");
  badge.textContent = count === 0 ? "" : `${count} unread`;
  badge.hidden = count === 0;
  document.title = count === 0 ? "Inbox" : `Inbox (${count})`;
}

/** Moves the focus to a message of the list. */
export function focusItem(id: string): void {
  for (const button of document.querySelectorAll<HTMLElement>("#list button")) {
    if (button.dataset.id === id) button.focus();
  }
}

function createItem(message: Message, openId: string | null): HTMLLIElement {
  const button = document.createElement("button");
  button.type = "button";
  button.dataset.id = message.id;
  button.className = message.is_read ? "" : "unread";
  if (message.id === openId) button.setAttribute("aria-current", "true");
  const time = document.createElement("time");
  time.dateTime = message.at;
  time.textContent = formatTime(message.at, new Date());
  const parts = [
    createSpan("addresses", messageAddresses(message)),
    time,
    createSpan("title", messageTitle(message)),
    ...(message.code ? [createSpan("chip", message.code)] : []),
    createSpan("snippet", message.snippet),
  ];
  if (!message.is_read) parts.unshift(createSpan("hidden", "Unread."));
  button.append(...parts);
  const item = document.createElement("li");
  item.append(button);
  return item;
}

function createSpan(className: string, text: string): HTMLSpanElement {
  const span = document.createElement("span");
  span.className = className;
  span.textContent = text;
  return span;
}

/** The addresses at which a message is shown. */
export interface MessageUrls {
  preview: string;
  source: string;
}

/** Shows a message, its text once it is there. */
export function showMessage(message: Message, urls: MessageUrls): void {
  findElement("subject").textContent = messageTitle(message);
  findElement("from").textContent = message.from || "–";
  findElement("to").textContent = message.to;
  const kind = message.kind + (message.attachments > 0 ? `, ${message.attachments} attached` : "");
  findElement("kind").textContent = kind;
  const time = findElement("time");
  time.setAttribute("datetime", message.at);
  time.textContent = new Date(message.at).toLocaleString();
  findElement("code").textContent = message.code ?? "";
  findElement("code-row").hidden = message.code === null;
  const link = findElement("link");
  link.textContent = message.link ?? "";
  const address = openableLink(message);
  if (address) link.setAttribute("href", address);
  else link.removeAttribute("href");
  findElement("link-row").hidden = message.link === null;
  findElement("raw").setAttribute("href", urls.source);
  findElement("text").textContent = "";
  findElement("preview").setAttribute("src", message.has_html ? urls.preview : "about:blank");
  findElement("show-html").hidden = !message.has_html;
  findElement("show-text").hidden = !message.has_html;
  showBody(message.has_html ? "html" : "text");
  showRead(message.is_read);
  findElement("reader").hidden = false;
  findElement("nothing-open").hidden = true;
  document.body.classList.add("is-reading");
}

/** Shows the HTML or the text of the open message. */
export function showBody(form: "html" | "text"): void {
  findElement("preview").hidden = form !== "html";
  findElement("text").hidden = form !== "text";
  findElement("show-html").setAttribute("aria-pressed", String(form === "html"));
  findElement("show-text").setAttribute("aria-pressed", String(form === "text"));
}

/** Shows whether the open message is read. */
export function showRead(isRead: boolean): void {
  findElement("toggle-read").textContent = isRead ? "Mark as unread" : "Mark as read";
}

/** Shows that no message is open. */
export function closeMessage(): void {
  findElement("reader").hidden = true;
  findElement("nothing-open").hidden = false;
  findElement("preview").setAttribute("src", "about:blank");
  document.body.classList.remove("is-reading");
}
