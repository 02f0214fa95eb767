/** A rendered e-mail in two formats. */
export interface Picture {
  avif: { src: string; width: number }[];
  webp: { src: string; width: number }[];
  width: number;
  height: number;
}
export const previews: Record<number, { alt: string; card: Picture; detail: Picture }> = {};
