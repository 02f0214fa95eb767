import { Check } from "lucide-react";
import { useEffect, useRef } from "react";

/** Replaces the form after a successful submission, and gets the focus. */
export function ReceivedCard() {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <section className="animate-appear border border-received-line bg-received p-6 text-received-ink sm:p-10">
      <Check aria-hidden="true" strokeWidth={1.5} className="-ml-1 size-12" />
      <h2 ref={heading} tabIndex={-1} className="mt-4 text-figure">
        Submission Received!
      </h2>
      <p className="mt-3 max-w-text">
        Thank you for your submission. We have successfully received your details and will send you
        a confirmation email.
      </p>
    </section>
  );
}
