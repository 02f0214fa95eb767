import { createBrowserRouter, type RouteObject } from "react-router-dom";
import { CataloguePage } from "../features/catalogue/page.tsx";
import { routes } from "../shared/paths.ts";
import { ErrorPage } from "./error-page.tsx";
import { Layout } from "./layout.tsx";
import { screens } from "./screens.ts";
import { SheetSkeleton, TemplateSkeleton } from "./skeletons.tsx";

/** All screens of the shop. */
const screenRoutes: RouteObject[] = [
  {
    element: <Layout />,
    errorElement: <ErrorPage />,
    children: [
      { path: routes.catalogue, element: <CataloguePage /> },
      {
        path: routes.template,
        lazy: async () => ({ Component: (await screens.template()).TemplatePage }),
        hydrateFallbackElement: <TemplateSkeleton />,
      },
      {
        path: routes.submission,
        lazy: async () => ({ Component: (await screens.submission()).SubmissionPage }),
        hydrateFallbackElement: <SheetSkeleton />,
      },
      {
        path: routes.unknown,
        lazy: async () => ({ Component: (await screens.notFound()).NotFoundPage }),
        hydrateFallbackElement: <SheetSkeleton />,
      },
    ],
  },
];

export const router = createBrowserRouter(screenRoutes);
