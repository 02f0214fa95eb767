import { hasEntered } from "../features/submission/draft.ts";
import { rememberCatalogue } from "../shared/catalogue-place.ts";
import { isTemplatePath, paths } from "../shared/paths.ts";
import { takeMailedSession } from "./mailed-fragment.ts";
import "../styles.css";

/** What visitors do who use a page, or are about to. Assistive technology may only click or change a value. */
const SIGNS = [
  "pointermove",
  "pointerdown",
  "touchstart",
  "wheel",
  "scroll",
  "keydown",
  "focusin",
  "input",
  "click",
];

/** Milliseconds that a filter waits for the program before it is sent as a form. */
const PATIENCE = 1000;

/**
 * Starts the program that takes over the page.
 *
 * The page that the server sends works as a document, but for some buttons: the program waits for a visitor who does
 * something, because compiling it takes a slow phone longer than showing the page.
 */
async function main(): Promise<void> {
  const mailed = takeMailedSession();
  if (location.pathname === paths.catalogue) {
    rememberCatalogue(new URLSearchParams(location.search).get("category") ?? undefined);
  }
  if (!mailed && canWait()) await firstSign();
  const { start } = await import("./start.tsx");
  await start(() => early.repeat(), mailed);
}

/** Returns whether the page has what the program would show at first. */
function canWait(): boolean {
  const isSent = document.getElementById("root")?.firstElementChild != null;
  if (!isSent || location.hash !== "") return false;
  if (location.pathname === paths.submission) return !hasEntered(document);
  return location.pathname === paths.catalogue || isTemplatePath(location.pathname);
}

function firstSign(): Promise<void> {
  return new Promise((resolve) => {
    const heard = new AbortController();
    const options = { capture: true, passive: true, signal: heard.signal };
    for (const sign of SIGNS) {
      const hear = () => {
        heard.abort();
        resolve();
      };
      addEventListener(sign, hear, options);
    }
  });
}

/** The last click on a button before the program has started, which the program answers. */
class EarlyClick {
  #button: HTMLButtonElement | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #over = new AbortController();

  constructor() {
    const remember = (event: MouseEvent) => {
      clearTimeout(this.#timer);
      this.#button = event.target instanceof Element ? event.target.closest("button") : null;
      const form = formOf(this.#button);
      if (form?.method === "get") {
        event.preventDefault();
        this.#timer = setTimeout(() => this.giveUp(), PATIENCE);
      } else if (form) {
        this.#button = null;
      }
    };
    addEventListener("click", remember, { capture: true, signal: this.#over.signal });
  }

  /** Repeats the click for the program. */
  repeat(): void {
    this.#end();
    this.#button?.click();
  }

  /** Sends the form of the button, whose answer is a document. */
  giveUp(): void {
    this.#end();
    formOf(this.#button)?.requestSubmit(this.#button);
    this.#button = null;
  }

  #end(): void {
    clearTimeout(this.#timer);
    this.#over.abort();
  }
}

/** Returns the form that a button sends. */
function formOf(button: HTMLButtonElement | null): HTMLFormElement | null {
  return button?.type === "submit" ? button.form : null;
}

const early = new EarlyClick();
main().catch((error: unknown) => {
  console.error("The page stays a document:", error);
  early.giveUp();
});
