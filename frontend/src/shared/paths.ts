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
  /** A mail of a product as it is, for a frame; the first one is 1. */
  mail: (id: number, mail: number) => `/mails/${id}-${mail}.html`,
  /** The submission form for a template, which the submission then names. */
  request: (id: number) => `${routes.submission}?template=${id}`,
} as const;

/** Returns whether a path is that of a template's page. */
export function isTemplatePath(path: string): boolean {
  return path.startsWith("/template/");
}
