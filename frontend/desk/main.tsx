import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { BrowserRouter } from "react-router-dom";
import { takeAccessLink } from "./app/access-link.ts";
import { Desk } from "./app/desk.tsx";
import { applyDensity } from "./shell/list/density.tsx";
import "./styles.css";

const root = document.getElementById("root");
if (!root) throw new Error("index.html has no element with the id 'root'");
const link = takeAccessLink();
applyDensity();
createRoot(root).render(
  <StrictMode>
    <BrowserRouter basename="/_desk">
      <Desk link={link} />
    </BrowserRouter>
  </StrictMode>,
);
