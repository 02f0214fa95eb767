import { useEffect, useState } from "react";

/** Returns the seconds until a time, counting down; 0 without one. */
export function useWait(until: number | undefined): number {
  const [now, setNow] = useState(() => Date.now());
  const isOver = until === undefined || now >= until;
  useEffect(() => {
    setNow(Date.now());
    if (isOver) return;
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, [isOver]);
  return isOver ? 0 : Math.ceil((until - now) / 1000);
}
