import { paths } from "../paths.ts";
import { PRODUCT } from "../product.ts";
import { TEMPLATES, type Template } from "./templates.ts";

const CONTEXT = "https://schema.org";

/**
 * Returns all templates as JSON-LD. It has no ratings: the 4.9 on the screens is display text, not a
 * result of reviews. `origin` is the origin of the site, without a slash at the end.
 */
export function catalogueData(origin: string): object {
  return {
    "@context": CONTEXT,
    "@type": "ItemList",
    name: `${PRODUCT} & Custom Designs`,
    itemListElement: TEMPLATES.map((template, index) => ({
      "@type": "ListItem",
      position: index + 1,
      item: product(template, origin),
    })),
  };
}

/** Returns one template as JSON-LD; `image` is the URL of its picture, relative or absolute. */
export function templateData(template: Template, image: string, origin: string): object {
  return {
    "@context": CONTEXT,
    ...product(template, origin),
    description: template.description,
    image: new URL(image, origin).href,
  };
}

function product(template: Template, origin: string): object {
  const url = origin + paths.template(template.id);
  return {
    "@type": "Product",
    name: template.title,
    category: template.category,
    offers: {
      "@type": "Offer",
      url,
      price: template.price.replace("$", ""),
      priceCurrency: "USD",
      availability: `${CONTEXT}/${template.paymentLink ? "InStock" : "PreOrder"}`,
    },
  };
}
