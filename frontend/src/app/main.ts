import { isTemplatePath } from "../shared/paths.ts";
import { takeMailedSession } from "./mailed-fragment.ts";
import "../styles.css";

/** What visitors do who use a page, or are about to. */
const SIGNS = ["pointermove", "pointerdown", "touchstart", "wheel", "scroll", "keydown", "focusin"];

/**
 * Starts the program that takes over the page.
 *
 * The page of a template works as a document, but for its buttons: there the program waits for a visitor who does something,
 * because compiling it takes a slow phone longer than showing the page.
 */
async function main(): Promise<void> {
  const mailed = takeMailedSession();
  const isSent = document.getElementById("root")?.firstElementChild != null;
  const waits = isSent && isTemplatePath(location.pathname) && location.hash === "" && !mailed;
  const early = new EarlyClick();
  if (waits) await firstSign();
  const { start } = await import("./start.tsx");
  await start(() => early.repeat(), mailed);
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

/** The last click on a button before the program has started, which nothing has answered. */
class EarlyClick {
  #button: HTMLButtonElement | null = null;
  readonly #over = new AbortController();

  constructor() {
    const remember = ({ target }: Event) => {
      if (target instanceof Element) this.#button = target.closest('button[type="button"]');
    };
    addEventListener("click", remember, { capture: true, signal: this.#over.signal });
  }

  repeat(): void {
    this.#over.abort();
    this.#button?.click();
  }
}

main().catch((error: unknown) => console.error("The page stays a document:", error));
