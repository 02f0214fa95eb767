import { createContext, useContext } from "react";
import { type Picture, previews } from "../../previews/index.ts";
import type { Template } from "./catalogue.ts";

/** The built-in alternative text and pictures of a template. */
export type BuiltInPreview = (typeof previews)[number];

/** A picture in the files that browsers choose from. */
export interface ShownPicture extends Picture {
  /** The media type of the files of `avif`, if it is another. */
  type?: string;
}

/** The alternative text and the pictures of a template: the built-in views, or one picture of the owner's. */
export interface Preview {
  alt: string;
  card: ShownPicture;
  detail: ShownPicture;
  /** Whether there are the views of a phone, a dark mailbox, pictures off and the fonts of Windows, and the other letters or layouts. */
  views?: Pick<BuiltInPreview, "phone" | "dark" | "unloaded" | "windows" | "letters" | "layouts">;
}

/** The pictures of the templates, by id. The prerendering replaces them by slots. */
export const PreviewContext = createContext<Readonly<Record<string, BuiltInPreview>>>(previews);

/** Returns the pictures of a template; `undefined` if it has none. */
export function usePreview({ id, picture }: Template): Preview | undefined {
  const builtIn = useContext(PreviewContext)[id];
  if (!picture) return builtIn && { ...builtIn, views: builtIn };
  const { src, type, width, height, alt } = picture;
  const file = [{ src, width }];
  const shown = { type, avif: file, webp: file, width, height };
  return { alt, card: shown, detail: shown };
}
