export function fontFaces(): string;
