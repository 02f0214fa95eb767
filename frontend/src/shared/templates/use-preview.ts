import { createContext, useContext } from "react";
import { type Picture, previews } from "../../previews/index.ts";
import type { Template } from "./catalogue.ts";

/** A picture in the files that browsers choose from. */
export interface ShownPicture extends Picture {
  /** The media type of the files of `avif`, if it is another. */
  type?: string;
}

/** The picture of a further letter of a series, or of a further layout of a mail. */
export interface FurtherMail {
  name: string;
  /** Its number in the product; the first mail is 1. */
  mail: number;
  alt: string;
  picture: ShownPicture;
}

/** The built-in alternative text and pictures of a template. */
export interface BuiltInPreview extends Omit<(typeof previews)[number], "letters" | "layouts"> {
  further: FurtherMail[];
}

/** The alternative text and the pictures of a template: the built-in views, or one picture of the owner's. */
export interface Preview {
  alt: string;
  card: ShownPicture;
  detail: ShownPicture;
  /** Whether there are the views of a phone, a dark mailbox, pictures off and the fonts of Windows, and the other letters or layouts. */
  views?: Pick<BuiltInPreview, "phone" | "dark" | "unloaded" | "windows" | "further">;
}

/** The pictures of the build, by the id of their template. */
export const builtInPreviews: Readonly<Record<string, BuiltInPreview>> = Object.fromEntries(
  Object.entries(previews).map(([id, { letters = [], layouts = [], ...preview }]) => {
    const further = [...letters, ...layouts].map(({ alt, ...picture }, index) => ({
      name: `${index < letters.length ? "Letter" : "Layout"} ${index + 2}`,
      mail: index + 2,
      alt,
      picture,
    }));
    return [id, { ...preview, further }];
  }),
);

/** The pictures of the templates, by id. The prerendering replaces them by slots. */
export const PreviewContext = createContext(builtInPreviews);

/** Returns the pictures of a template; `undefined` if it has none. */
export function usePreview({ id, picture }: Template): Preview | undefined {
  const builtIn = useContext(PreviewContext)[id];
  if (!picture) return builtIn && { ...builtIn, views: builtIn };
  const { src, type, width, height, alt } = picture;
  const file = [{ src, width }];
  const shown = { type, avif: file, webp: file, width, height };
  return { alt, card: shown, detail: shown };
}
