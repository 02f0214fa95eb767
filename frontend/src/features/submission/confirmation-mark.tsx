import { MailCheck } from "lucide-react";
import { useEffect, useState } from "react";
import { findOnlyAddress } from "./address.ts";

/** Milliseconds without a change after which an address is taken as complete. */
const PAUSE = 500;

/**
 * A drawing at the field: a confirmation goes to the address in the text. The product specification
 * allows no further words on the screen; screen readers announce the address.
 */
export function ConfirmationMark({ text }: { text: string }) {
  const address = useSettled(findOnlyAddress(text));
  return (
    <>
      {address && (
        <MailCheck aria-hidden="true" strokeWidth={1.75} className="size-6 animate-appear" />
      )}
      <p aria-live="polite" className="sr-only">
        {address && `A confirmation email goes to ${address}`}
      </p>
    </>
  );
}

/** Returns the address once it has not changed for a while; nothing as soon as it changes. */
function useSettled(address: string | undefined): string | undefined {
  const [settled, setSettled] = useState<string>();
  useEffect(() => {
    const timer = setTimeout(() => setSettled(address), PAUSE);
    return () => clearTimeout(timer);
  }, [address]);
  return settled === address ? settled : undefined;
}
