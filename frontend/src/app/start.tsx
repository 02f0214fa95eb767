import { createRoot, hydrateRoot } from "react-dom/client";
import { createBrowserRouter } from "react-router-dom";
import { readOutcome } from "../features/submission/outcome.ts";
import { readCatalogue } from "../shared/templates/catalogue.ts";
import { forgetScrollPositions } from "./layout.tsx";
import { consumeMailedSession } from "./mailed-session.ts";
import { loadScreen, screenRoutes } from "./routes.tsx";
import { Shop } from "./shop.tsx";
import "../styles.css";

/** Takes over the page that the server sent. Until then, and if that fails, it works as a document. */
async function start(): Promise<void> {
  const root = document.getElementById("root");
  if (!root) throw new Error("index.html has no element with the id 'root'");
  forgetScrollPositions();
  const catalogue = readCatalogue(document);
  const routes = screenRoutes();
  await loadScreen(routes, location.pathname);
  const router = createBrowserRouter(routes);
  const shop = <Shop router={router} catalogue={catalogue} outcome={readOutcome(document)} />;
  if (root.firstElementChild) {
    hydrateRoot(root, shop, {
      onRecoverableError: (error) => console.error("The page was rendered again:", error),
    });
  } else {
    createRoot(root).render(shop);
  }
  await consumeMailedSession(router);
}

start().catch((error: unknown) => console.error("The page stays a document:", error));
