import { useSyncExternalStore } from "react";

const subscribe = () => () => undefined;

/** Returns whether the page may differ from what the server sent: false while it is taken over. */
export function useHydrated(): boolean {
  return useSyncExternalStore(
    subscribe,
    () => true,
    () => false,
  );
}
