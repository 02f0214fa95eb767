/** What the shop sells, as every title and heading names it. */
export const PRODUCT = "Email Templates";
