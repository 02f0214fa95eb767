/** A text that only screen readers get, whenever it changes. */
export function Announcement({ children }: { children: string }) {
  return (
    <p role="status" className="sr-only">
      {children}
    </p>
  );
}
