//! What the shop offers: templates and categories.

use orders::decision::{Product, parse_price};
use orders::simulator::SIMULATOR_PATH;
use serde::Serialize;

use super::pictures::OwnPicture;

/// The start of links that lead nowhere.
const PLACEHOLDER_LINK: &str = "https://payments.example/placeholder/";

/// What the shop offers, as the pages and their hydration data show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Catalogue {
    /// The visible templates, in the order of the cards.
    pub templates: Vec<Template>,
    /// The categories of these templates, in the order of the filter row.
    pub categories: Vec<Category>,
}

/// A template on sale.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Template {
    /// The number in the path of its page.
    pub id: u16,
    pub title: String,
    /// The name of its category.
    pub category: String,
    /// The displayed price: a dollar sign and an amount.
    pub price: String,
    /// The two lines on its card.
    pub summary: String,
    /// The text on its page.
    pub description: String,
    /// Five features.
    pub features: Vec<String>,
    /// The payment link; a template without one is a custom design.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// The picture that the owner gives in place of the built-in ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<OwnPicture>,
    /// The ids at payment providers, which pages do not show.
    #[serde(skip)]
    pub payment_references: Vec<String>,
}

/// A category with the texts of its card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Category {
    /// Its name, as on badges and filters.
    pub name: String,
    pub tagline: String,
    /// Three benefits.
    pub benefits: Vec<String>,
}

impl Catalogue {
    /// Returns what payments are compared with.
    pub(crate) fn list_products(&self) -> Vec<Product> {
        let product = |template: &Template| {
            Some(Product {
                template: template.id,
                title: template.title.clone(),
                price_minor: parse_price(&template.price)?,
                references: template.payment_references.clone(),
                link: template.link.clone(),
            })
        };
        self.templates.iter().filter_map(product).collect()
    }

    /// Returns the templates that have a payment link.
    pub(crate) fn list_for_sale(&self) -> Vec<Product> {
        let mut products = self.list_products();
        products.retain(|product| self.find(product.template).is_some_and(|template| template.link.is_some()));
        products
    }

    /// Returns the titles of the templates whose payment link leads nowhere.
    pub(crate) fn list_placeholders(&self) -> Vec<&str> {
        let placeholders = self.templates.iter().filter(|template| template.has_placeholder_link());
        placeholders.map(|template| template.title.as_str()).collect()
    }

    /// Returns the catalogue with links to the payment simulator in place of those that lead nowhere.
    pub(crate) fn with_simulated_payments(&self) -> Self {
        let mut catalogue = self.clone();
        for template in catalogue.templates.iter_mut().filter(|template| template.has_placeholder_link()) {
            template.link = Some(format!("{SIMULATOR_PATH}?template={}", template.id));
        }
        catalogue
    }

    /// Returns the visible template with this id.
    pub(crate) fn find(&self, id: u16) -> Option<&Template> {
        self.templates.iter().find(|template| template.id == id)
    }
}

/// Returns whether a payment link leads nowhere.
pub(crate) fn is_placeholder(link: &str) -> bool {
    link.starts_with(PLACEHOLDER_LINK)
}

impl Template {
    /// Returns whether its payment link leads nowhere.
    pub(crate) fn has_placeholder_link(&self) -> bool {
        self.link.as_deref().is_some_and(is_placeholder)
    }

    /// Returns whether its payment link leads to the payment simulator.
    pub(crate) fn is_simulated(&self) -> bool {
        self.link.as_deref().is_some_and(|link| link.starts_with(SIMULATOR_PATH))
    }

    /// Returns the price without the dollar sign.
    pub(crate) fn amount(&self) -> &str {
        self.price.trim_start_matches('$')
    }
}
