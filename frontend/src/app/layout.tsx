import { useEffect, useRef } from "react";
import { Outlet, ScrollRestoration, useLocation } from "react-router-dom";

/** Around every screen: remembers where the reader was and tells a screen reader what opened. */
export function Layout() {
  useHeadingFocus();
  return (
    <>
      <Outlet />
      <ScrollRestoration />
    </>
  );
}

/** Moves the focus to the heading of a screen that was navigated to, but not of the first one. */
function useHeadingFocus(): void {
  const { pathname } = useLocation();
  const shown = useRef(pathname);
  useEffect(() => {
    if (shown.current === pathname) return;
    shown.current = pathname;
    document.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });
  }, [pathname]);
}
