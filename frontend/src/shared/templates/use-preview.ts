import { createContext, useContext } from "react";
import { previews } from "../../previews/index.ts";

/** The alternative text and the pictures of a template. */
export type Preview = (typeof previews)[number];

/** The pictures of the templates, by id. The prerendering replaces them by slots. */
export const PreviewContext = createContext<Readonly<Record<string, Preview>>>(previews);

/** Returns the pictures of a template; `undefined` if it has none, as one that the owner adds. */
export function usePreview(id: number): Preview | undefined {
  return useContext(PreviewContext)[id];
}
