import { createBrowserRouter, type RouteObject } from "react-router-dom";
import { CataloguePage } from "../features/catalogue/page.tsx";
import { ErrorPage } from "./error-page.tsx";
import { Layout } from "./layout.tsx";
import { screens } from "./screens.ts";
import { SheetSkeleton, TemplateSkeleton } from "./skeletons.tsx";

/** Every screen of the shop. */
const routes: RouteObject[] = [
  {
    element: <Layout />,
    errorElement: <ErrorPage />,
    children: [
      { path: "/", element: <CataloguePage /> },
      {
        path: "/template/:id",
        lazy: async () => ({ Component: (await screens.template()).TemplatePage }),
        hydrateFallbackElement: <TemplateSkeleton />,
      },
      {
        path: "/submit",
        lazy: async () => ({ Component: (await screens.submission()).SubmissionPage }),
        hydrateFallbackElement: <SheetSkeleton />,
      },
      {
        path: "*",
        lazy: async () => ({ Component: (await screens.notFound()).NotFoundPage }),
        hydrateFallbackElement: <SheetSkeleton />,
      },
    ],
  },
];

export const router = createBrowserRouter(routes);
