import type { Page } from "playwright-core";

export function fontFaces(machine?: "designer" | "windows"): string;
export function setFonts(page: Page, machine?: "designer" | "windows"): Promise<void>;
export const WINDOWS_FAMILIES: string[];
