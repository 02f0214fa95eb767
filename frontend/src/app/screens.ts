/**
 * The screens that are loaded on their own. Each is fetched once; asking again, as a link does when a
 * pointer comes near it, costs nothing.
 */
export const screens = {
  template: () => import("../features/template/page.tsx"),
  submission: () => import("../features/submission/page.tsx"),
  notFound: () => import("../features/not-found/page.tsx"),
} as const;
