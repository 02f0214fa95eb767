/** Loaders of the screens that are not part of the first script. The browser loads each one once. */
export const screens = {
  template: () => import("../features/template/page.tsx"),
  submission: () => import("../features/submission/page.tsx"),
  notFound: () => import("../features/not-found/page.tsx"),
} as const;
