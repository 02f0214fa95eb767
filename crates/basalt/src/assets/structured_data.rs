//! The catalogue as JSON-LD, for search engines.
//!
//! It has no ratings: the 4.9 on the screens is display text, not a result of reviews.

use serde_json::{Value, json};

use crate::catalogue::{Catalogue, Template};

const CONTEXT: &str = "https://schema.org";

/// Returns all templates; `origin` has no slash at the end.
pub(super) fn describe_catalogue(catalogue: &Catalogue, origin: &str) -> Value {
    let items: Vec<Value> = catalogue
        .templates
        .iter()
        .zip(1..)
        .map(|(template, position)| json!({ "@type": "ListItem", "position": position, "item": product(template, origin) }))
        .collect();
    json!({
        "@context": CONTEXT,
        "@type": "ItemList",
        "name": "Email Templates & Custom Designs",
        "itemListElement": items,
    })
}

/// Returns one template with its picture, an absolute URL.
pub(super) fn describe_template(template: &Template, picture: &str, origin: &str) -> Value {
    let mut data = product(template, origin);
    data["@context"] = CONTEXT.into();
    data["description"] = template.description.as_str().into();
    data["image"] = picture.into();
    data
}

fn product(template: &Template, origin: &str) -> Value {
    let availability = if template.link.is_some() { "InStock" } else { "PreOrder" };
    json!({
        "@type": "Product",
        "name": template.title,
        "category": template.category,
        "offers": {
            "@type": "Offer",
            "url": format!("{origin}/template/{}", template.id),
            "price": template.amount(),
            "priceCurrency": "USD",
            "availability": format!("{CONTEXT}/{availability}"),
        },
    })
}
