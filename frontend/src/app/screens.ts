/**
 * The screens that are loaded on their own. Each is fetched once; asking again, as a link does when a
 * pointer comes near it, costs nothing.
 */
export const screens = {
  template: () => import("../features/template/page.tsx"),
  submission: () => import("../features/submission/page.tsx"),
  notFound: () => import("../features/not-found/page.tsx"),
} as const;

/**
 * For a link to a screen: fetches it once a pointer, a finger or the focus comes near. Should that
 * fail, the visit itself will say so.
 */
export function prefetching(screen: keyof typeof screens) {
  const start = () => {
    screens[screen]().catch(() => undefined);
  };
  return { onPointerEnter: start, onTouchStart: start, onFocus: start };
}
