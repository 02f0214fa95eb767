import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { RouterProvider } from "react-router-dom";
import { ScreenLoaders } from "../shared/prefetch.ts";
import { router } from "./router.tsx";
import { screens } from "./screens.ts";

const root = document.getElementById("root");
if (!root) throw new Error("index.html has no element with the id 'root'");

createRoot(root).render(
  <StrictMode>
    <ScreenLoaders value={screens}>
      <RouterProvider router={router} />
    </ScreenLoaders>
  </StrictMode>,
);
