import { createContext, type ReactNode, useContext } from "react";

/** The names of alternatives, by the data that they are rendered from. Provided at build only. */
export const SlotContext = createContext<ReadonlyMap<object, string> | undefined>(undefined);

interface SlotProps {
  /** The name of a part that is repeated for each item of a list. */
  name?: string;
  /** The data of a part that is one of several alternatives. */
  of?: object;
  children: ReactNode;
}

/**
 * Marks its content, at build, as a part of the page that the server repeats or leaves out. In the
 * browser it is its content.
 */
export function Slot({ name, of: data, children }: SlotProps) {
  const names = useContext(SlotContext);
  const mark = name ?? (data && names?.get(data));
  if (!names || mark === undefined) return children;
  return (
    <>
      {`{{#${mark}}}`}
      {children}
      {`{{/${mark}}}`}
    </>
  );
}
