import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { BrowserRouter } from "react-router-dom";
import { Desk } from "./app/desk.tsx";
import { takeSetupToken } from "./app/setup-token.ts";
import "./styles.css";

const root = document.getElementById("root");
if (!root) throw new Error("index.html has no element with the id 'root'");
const setupToken = takeSetupToken();
createRoot(root).render(
  <StrictMode>
    <BrowserRouter basename="/_desk">
      <Desk setupToken={setupToken} />
    </BrowserRouter>
  </StrictMode>,
);
