import { matchRoutes, type RouteObject } from "react-router-dom";
import { CataloguePage } from "../features/catalogue/page.tsx";
import { routes } from "../shared/paths.ts";
import { ErrorPage } from "./error-page.tsx";
import { Layout } from "./layout.tsx";
import { screens } from "./screens.ts";
import { SheetSkeleton, TemplateSkeleton } from "./skeletons.tsx";

/** Returns all screens of the shop. */
export function screenRoutes(): RouteObject[] {
  return [
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
}

/** Loads the screen of a path, so that it is rendered at once. */
export async function loadScreen(known: RouteObject[], path: string): Promise<void> {
  const matches = matchRoutes(known, path) ?? [];
  await Promise.all(
    matches.map(async ({ route }) => {
      if (typeof route.lazy === "function") {
        Object.assign(route, await route.lazy(), { lazy: undefined });
      }
    }),
  );
}
