import type { Result } from "../../src/shared/result.ts";
import type { InboxApi } from "./api.ts";
import { type Filter, filterMessages, type Message, messageAfter } from "./model.ts";
import {
  closeMessage,
  findElement,
  findSearch,
  focusItem,
  showBody,
  showList,
  showMessage,
  showRead,
  showStatus,
  showUnread,
} from "./view.ts";

/** How long the page waits after a failed request, in milliseconds. */
const RETRY_MS = 2000;
/** How long the button that deletes everything waits for its second click, in milliseconds. */
const CONFIRM_MS = 4000;

/** What the page needs from its surroundings. */
export interface InboxOptions {
  api: InboxApi;
  /** The initial text of the search. */
  search: string;
  /** Puts a text on the clipboard. */
  copy: (text: string) => Promise<void>;
  /** Completes after this time. */
  sleep: (ms: number) => Promise<void>;
  /** Ends the page: it listens to keys and waits for messages no more. */
  signal: AbortSignal;
}

/** Controls the inbox: lists messages as they arrive, opens, copies, marks and deletes them. */
export class InboxPage {
  readonly #options: InboxOptions;
  #messages: Message[] = [];
  #open: string | null = null;
  #filter: Filter;

  constructor(options: InboxOptions) {
    this.#options = options;
    this.#filter = { search: options.search, unreadOnly: false };
  }

  /** Listens to the page and shows the messages. */
  async start(): Promise<void> {
    const search = findSearch();
    search.value = this.#filter.search;
    search.addEventListener("input", () => this.#setFilter({ search: search.value }));
    this.#onClick("unread-only", async () => this.#toggleUnreadOnly());
    this.#onClick("delete-all", () => this.#deleteAll());
    this.#onClick("back", async () => this.#close());
    this.#onClick("copy-code", () => this.#copy("code"));
    this.#onClick("copy-link", () => this.#copy("link"));
    this.#onClick("toggle-read", () => this.#toggleRead());
    this.#onClick("delete", () => this.#delete());
    this.#onClick("show-html", async () => showBody("html"));
    this.#onClick("show-text", async () => showBody("text"));
    findElement("list").addEventListener("click", (event) => {
      const target = event.target instanceof Element ? event.target.closest("button") : null;
      if (target?.dataset.id) void this.#show(target.dataset.id);
    });
    const { signal } = this.#options;
    document.addEventListener("keydown", (event) => this.#onKey(event), { signal });
    await this.#refresh();
  }

  /** Shows messages as they arrive until the page ends. */
  async watch(): Promise<void> {
    const { api, sleep, signal } = this.#options;
    while (!signal.aborted) {
      const changed = await api.waitForChange(this.#messages[0]?.id ?? null);
      if (signal.aborted) return;
      if (!changed.ok || !(await this.#refresh())) {
        showStatus(`${changed.ok ? "" : changed.error} Trying again…`.trim(), true);
        await sleep(RETRY_MS);
      }
    }
  }

  /** Reads the list; returns whether it could be read. */
  async #refresh(): Promise<boolean> {
    const list = await this.#options.api.list();
    if (!list.ok) {
      showStatus(`${list.error} Trying again…`, true);
      return false;
    }
    if (findElement("status").textContent?.includes("Trying again")) showStatus("");
    this.#messages = list.value;
    if (this.#open && !this.#openMessage()) this.#close();
    this.#render();
    return true;
  }

  #render(): void {
    const empty =
      this.#messages.length === 0
        ? "No messages yet. What your app sends by e-mail or SMS appears here."
        : "No message matches.";
    showList(this.#visible(), this.#open, empty);
    showUnread(this.#messages.filter((message) => !message.is_read).length);
  }

  #visible(): Message[] {
    // The open message stays although it has just become read.
    const { unreadOnly } = this.#filter;
    const shown = new Set(filterMessages(this.#messages, this.#filter).map(({ id }) => id));
    if (unreadOnly && this.#open) shown.add(this.#open);
    return this.#messages.filter(({ id }) => shown.has(id));
  }

  #openMessage(): Message | undefined {
    return this.#messages.find((message) => message.id === this.#open);
  }

  async #show(id: string): Promise<void> {
    const message = this.#messages.find((message) => message.id === id);
    if (!message) return;
    const { api } = this.#options;
    this.#open = id;
    showMessage(message, { preview: api.previewUrl(id), source: api.sourceUrl(id) });
    if (!message.is_read) await this.#setRead(message, true);
    this.#render();
    const text = await api.getText(id);
    if (this.#open === id) findElement("text").textContent = text.ok ? text.value : text.error;
  }

  #close(): void {
    const closed = this.#open;
    this.#open = null;
    closeMessage();
    this.#render();
    if (closed) focusItem(closed);
  }

  async #setRead(message: Message, isRead: boolean): Promise<void> {
    if (!this.#succeeded(await this.#options.api.markRead([message.id], isRead))) return;
    message.is_read = isRead;
    if (this.#open === message.id) showRead(isRead);
  }

  async #toggleRead(): Promise<void> {
    const message = this.#openMessage();
    if (!message) return;
    await this.#setRead(message, !message.is_read);
    this.#render();
  }

  async #delete(): Promise<void> {
    const id = this.#open;
    if (!id) return;
    const next = messageAfter(this.#visible(), id);
    if (!this.#succeeded(await this.#options.api.delete(id))) return;
    this.#messages = this.#messages.filter((message) => message.id !== id);
    this.#close();
    showStatus("Message deleted");
    if (next) focusItem(next.id);
  }

  /** Deletes everything at the second click. */
  async #deleteAll(): Promise<void> {
    const button = findElement("delete-all");
    if (button.dataset.asked !== "true") {
      button.dataset.asked = "true";
      button.textContent = "Really delete all?";
      await this.#options.sleep(CONFIRM_MS);
      if (button.dataset.asked !== "true") return;
    } else if (this.#succeeded(await this.#options.api.deleteAll())) {
      this.#messages = [];
      this.#close();
      showStatus("All messages deleted");
    }
    button.dataset.asked = "false";
    button.textContent = "Delete all";
  }

  async #copy(what: "code" | "link"): Promise<void> {
    const text = this.#openMessage()?.[what];
    if (!text) return showStatus(`This message has no ${what}`);
    try {
      await this.#options.copy(text);
      showStatus(what === "code" ? "Code copied" : "Link copied");
    } catch {
      showStatus("The browser does not allow copying");
    }
  }

  #toggleUnreadOnly(): void {
    const unreadOnly = !this.#filter.unreadOnly;
    findElement("unread-only").setAttribute("aria-pressed", String(unreadOnly));
    this.#setFilter({ unreadOnly });
  }

  #setFilter(change: Partial<Filter>): void {
    this.#filter = { ...this.#filter, ...change };
    this.#render();
  }

  #succeeded(result: Result<null, string>): boolean {
    if (!result.ok) showStatus(result.error);
    return result.ok;
  }

  #onClick(id: string, work: () => Promise<void>): void {
    findElement(id).addEventListener("click", () => void work());
  }

  #onKey(event: KeyboardEvent): void {
    const isTyping = event.target instanceof HTMLInputElement;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping && event.key !== "Escape") return;
    const keys: Record<string, () => unknown> = {
      "/": () => findSearch().focus(),
      Escape: () => (isTyping ? findSearch().blur() : this.#close()),
      j: () => this.#step(1),
      ArrowDown: () => this.#step(1),
      k: () => this.#step(-1),
      ArrowUp: () => this.#step(-1),
      c: () => this.#copy("code"),
      l: () => this.#copy("link"),
      u: () => this.#toggleRead(),
      Delete: () => this.#delete(),
    };
    const action = keys[event.key];
    if (!action || (event.key.startsWith("Arrow") && isScrollable(event.target))) return;
    event.preventDefault();
    void action();
  }

  /** Opens the next or the previous message of the list. */
  #step(by: 1 | -1): void {
    const visible = this.#visible();
    const index = visible.findIndex((message) => message.id === this.#open);
    const next = visible[index === -1 ? 0 : index + by];
    if (!next) return;
    void this.#show(next.id);
    focusItem(next.id);
  }
}

/** Returns whether the arrow keys scroll this element. */
function isScrollable(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("#reader") !== null;
}
