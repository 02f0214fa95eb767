/** The product name in titles and headings. */
export const PRODUCT = "Email Templates";
