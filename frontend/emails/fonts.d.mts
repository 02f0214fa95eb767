import type { Page } from "playwright-core";

/** Family, package, file name without ending, weights, style, widths. */
type Face = [string, string, string, string, string, string?];
export const WEB_FACES: Face[];
export function fontFaces(machine?: "any" | "windows"): string;
export function setFonts(page: Page, machine?: "any" | "windows"): Promise<void>;
export const WINDOWS_FAMILIES: string[];
export const OUTLOOK_FAMILIES: string[];
