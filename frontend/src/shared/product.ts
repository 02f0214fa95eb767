/** The product name in titles and headings. */
export const PRODUCT = "Email Templates";

/** The description of the shop for search engines and previews of shared links. */
export const SHOP_DESCRIPTION =
  "Responsive email templates, ready to send from any major email platform, and custom email designs made for your brand.";
