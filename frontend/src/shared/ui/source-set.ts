/** Returns the `srcset` attribute of a picture in several widths. */
export function sourceSet(files: { src: string; width: number }[]): string {
  return files.map(({ src, width }) => `${src} ${width}w`).join(", ");
}
