import { startTransition } from "react";
import { createRoot, hydrateRoot } from "react-dom/client";
import { createBrowserRouter } from "react-router-dom";
import { readOutcome } from "../features/submission/outcome.ts";
import { readSeller } from "../shared/seller.ts";
import { readCatalogue } from "../shared/templates/catalogue.ts";
import { forgetScrollPositions } from "./layout.tsx";
import type { MailedSession } from "./mailed-fragment.ts";
import { enterMailedSession } from "./mailed-session.ts";
import { loadScreen, screenRoutes } from "./routes.tsx";
import { Shop } from "./shop.tsx";

/**
 * Takes over the page that the server sent, and calls `whenReady` when it answers to clicks. Until then, and if that fails, it
 * works as a document.
 */
export async function start(whenReady: () => void, mailed?: MailedSession): Promise<void> {
  const root = document.getElementById("root");
  if (!root) throw new Error("index.html has no element with the id 'root'");
  // Loading the program was a long piece of work, so that the browser first does what came up meanwhile.
  await new Promise((resolve) => setTimeout(resolve));
  forgetScrollPositions();
  const catalogue = readCatalogue(document);
  const routes = screenRoutes();
  await loadScreen(routes, location.pathname);
  const isSent = root.firstElementChild !== null;
  // With data of a server, even without any, the router leaves the first scroll position to the browser.
  const router = createBrowserRouter(routes, isSent ? { hydrationData: { loaderData: {} } } : {});
  const seller = readSeller(document);
  const shop = (
    <Shop router={router} catalogue={catalogue} outcome={readOutcome(document)} seller={seller} />
  );
  if (isSent) {
    // As a transition, in steps of a few milliseconds, so that the page answers meanwhile.
    startTransition(() => {
      hydrateRoot(root, shop, {
        onRecoverableError: (error) => console.error("The page was rendered again:", error),
      });
    });
  } else {
    createRoot(root).render(shop);
  }
  whenReady();
  if (mailed) await enterMailedSession(mailed);
}
