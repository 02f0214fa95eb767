/** The path patterns of the screens, as the router matches them. */
export const routes = {
  catalogue: "/",
  submission: "/submit",
  template: "/template/:id",
  unknown: "*",
} as const;

/** The paths that links lead to. */
export const paths = {
  catalogue: routes.catalogue,
  submission: routes.submission,
  template: (id: number) => routes.template.replace(":id", String(id)),
  /** Where buyers ask for their links again: a page of the server. */
  orders: "/orders",
  /** A mail of a product as it is, for a frame; the first one is 1. */
  mail: (id: number, mail: number) => `/mails/${id}-${mail}.html`,
  /** The plain-text parts of the mails of a product, for a frame. */
  plainTexts: (id: number) => `/mails/${id}-text.html`,
  /** The submission form for a template, which the submission then names. */
  request: (id: number) => `${routes.submission}?template=${id}`,
} as const;

/** Returns whether a path is that of a template's page. */
export function isTemplatePath(path: string): boolean {
  return path.startsWith("/template/");
}
