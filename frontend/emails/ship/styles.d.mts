interface Rule {
  selector: string;
  declarations: Record<string, string>;
}
export function parseEmail(html: string): Document;
export function darkBlock(html: string): { start: number; end: number; css: string };
export function parseRules(css: string): Rule[];
export function shownColours(
  element: Element,
  rules: Rule[],
): { color: string; background: string };
export function contrast(one: string, two: string): number;
