/** Every address of the shop. */
export const paths = {
  catalogue: "/",
  submission: "/submit",
  template: (id: number) => `/template/${id}`,
} as const;
