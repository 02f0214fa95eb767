import { useEffect } from "react";

/** Lets the browser ask before the page is closed with something that is not saved. */
export function useDraftWarning(hasDrafts: () => boolean): void {
  useEffect(() => {
    function onLeave(event: BeforeUnloadEvent): void {
      if (hasDrafts()) event.preventDefault();
    }
    window.addEventListener("beforeunload", onLeave);
    return () => window.removeEventListener("beforeunload", onLeave);
  }, [hasDrafts]);
}
