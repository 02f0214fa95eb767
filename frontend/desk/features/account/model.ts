const BROWSERS = [
  ["Edg/", "Edge"],
  ["Firefox/", "Firefox"],
  ["Chrome/", "Chrome"],
  ["Safari/", "Safari"],
] as const;

const SYSTEMS = ["iPhone", "iPad", "Android", "Windows", "Macintosh", "Linux"];

/** Returns browser and system of a user agent, such as `Firefox on Windows`. */
export function describeBrowser(userAgent: string): string {
  const browser = BROWSERS.find(([part]) => userAgent.includes(part))?.[1];
  const system = SYSTEMS.find((part) => userAgent.includes(part))?.replace("Macintosh", "Mac");
  if (!browser) return system ?? "Unknown browser";
  return system ? `${browser} on ${system}` : browser;
}
