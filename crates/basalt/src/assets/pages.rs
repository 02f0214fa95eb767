//! The pages of the shop: prerendered at build, filled from the catalogue on first use.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use serde_json::{Value, json};

use super::document_page::format_document;
use super::embedded::Files;
use super::file::File;
use super::fill::SiteConfig;
use super::page_template::{PageTemplate, Scope};
use super::structured_data::{describe_catalogue, describe_template};
use crate::catalogue::{Catalogue, OwnPicture, Template};
use crate::seller::Seller;

/// The prerendered pages, by the name of their file.
const NAMES: [&str; 13] = [
    "catalogue",
    "category",
    "template",
    "template-custom",
    "template-own",
    "template-own-custom",
    "template-bare",
    "template-bare-custom",
    "template-not-found",
    "submission",
    "submission-refused",
    "submission-received",
    "not-found",
];
const PICTURES: &str = "pages/pictures.json";
pub(super) const FORM_PATH: &str = "/submit";
/// The prefix of the paths of templates.
const TEMPLATE_PREFIX: &str = "/template/";
/// The name under which pages and files without a name in the build get their media type.
const PAGE: &str = "page.html";

/// A page of the shop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Page {
    /// All templates.
    Catalogue,
    /// Those of a category, by its position.
    Category(usize),
    /// One template, by its position.
    Template(usize),
    /// The form.
    Submission,
    /// For unknown ids.
    TemplateNotFound,
    /// For unknown paths.
    NotFound,
    /// A text of the seller's, by its position.
    Document(usize),
    /// The list of the pages for search engines.
    Sitemap,
}

/// What a form that was sent without a script is answered with.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FormOutcome<'a> {
    /// The submission is stored: the green card.
    Received,
    /// The details are refused with these words: the form with them and the details.
    Refused(&'a str, &'a str),
    /// Anything else: the form with the details.
    Failed(&'a str),
}

/// The pictures that pages show of a template.
enum Shown<'a> {
    /// Those of the build.
    BuiltIn(&'a Value),
    /// One that the owner gives.
    Own(&'a OwnPicture),
}

/// The picture of a shared link.
struct SharedPicture<'a> {
    path: String,
    width: u32,
    height: u32,
    alt: Cow<'a, str>,
}

/// The pages, filled on first use.
#[derive(Debug)]
pub(super) struct Pages {
    templates: HashMap<&'static str, PageTemplate>,
    /// What the pages show.
    pub(super) catalogue: Arc<Catalogue>,
    seller: Option<Arc<Seller>>,
    pictures: HashMap<u64, Value>,
    /// The pictures of shared links that exist.
    shared: HashMap<u16, String>,
    origin: String,
    config: String,
    filled: HashMap<Page, OnceLock<File>>,
}

impl Pages {
    /// Loads the pages of the build; `None` if it has none.
    pub(super) fn load(
        site: &SiteConfig<'_>,
        catalogue: Arc<Catalogue>,
        seller: Option<Arc<Seller>>,
        files: &Files<'_>,
    ) -> Option<Self> {
        let mut templates = HashMap::new();
        for name in NAMES {
            let body = (files.get)(&format!("pages/{name}.html"))?;
            templates.insert(name, PageTemplate::parse(std::str::from_utf8(&body).ok()?)?);
        }
        let pictures: Vec<Value> = serde_json::from_slice(&(files.get)(PICTURES)?).ok()?;
        let pictures = pictures.into_iter().filter_map(|picture| Some((picture["id"].as_u64()?, picture))).collect();
        let shared = catalogue.templates.iter().map(|template| (template.id, format!("shared/{:02}.jpg", template.id)));
        let shared = shared.filter(|(_, name)| files.names.contains(name)).collect();
        let documents = seller.as_ref().map_or(0, |seller| seller.documents.len());
        let filled = list_pages(&catalogue)
            .chain((0..documents).map(Page::Document))
            .map(|page| (page, OnceLock::new()))
            .collect();
        let origin = site.site_url.trim_end_matches('/').to_owned();
        Some(Self { templates, catalogue, seller, pictures, shared, origin, config: to_script(site), filled })
    }

    /// Returns the page at a path; that of unknown paths is [`Page::NotFound`].
    pub(super) fn find(&self, path: &str, query: Option<&str>) -> Page {
        match path {
            "/" => self.find_category(query.unwrap_or_default()).map_or(Page::Catalogue, Page::Category),
            FORM_PATH => Page::Submission,
            "/sitemap.xml" => Page::Sitemap,
            _ => match path.strip_prefix(TEMPLATE_PREFIX) {
                Some(id) if !id.is_empty() && !id.contains('/') => {
                    // Ids have one spelling: `01` and `+1` are unknown.
                    let position = self.catalogue.templates.iter().position(|template| template.id.to_string() == id);
                    position.map_or(Page::TemplateNotFound, Page::Template)
                }
                _ => self.find_document(path).map_or(Page::NotFound, Page::Document),
            },
        }
    }

    fn find_document(&self, path: &str) -> Option<usize> {
        self.seller.as_ref()?.documents.iter().position(|document| document.path == path)
    }

    fn find_category(&self, query: &str) -> Option<usize> {
        let wanted = url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "category")?.1;
        self.catalogue.categories.iter().position(|category| category.name == wanted)
    }

    /// Returns a page, filled.
    pub(super) fn get(&self, page: Page) -> Option<&File> {
        self.filled.get(&page).map(|filled| filled.get_or_init(|| self.build(page)))
    }

    fn build(&self, page: Page) -> File {
        match page {
            Page::Catalogue => File::compress(PAGE, self.fill("catalogue", self.catalogue_scope(None))),
            Page::Category(at) => File::compress(PAGE, self.fill("category", self.catalogue_scope(Some(at)))),
            Page::Template(at) => {
                let template = &self.catalogue.templates[at];
                let name = match (self.picture(template), template.link.is_some()) {
                    (Some(Shown::BuiltIn(_)), true) => "template",
                    (Some(Shown::BuiltIn(_)), false) => "template-custom",
                    (Some(Shown::Own(_)), true) => "template-own",
                    (Some(Shown::Own(_)), false) => "template-own-custom",
                    (None, true) => "template-bare",
                    (None, false) => "template-bare-custom",
                };
                File::compress(PAGE, self.fill(name, self.template_scope(template)))
            }
            Page::Submission => File::compress(PAGE, self.form_page(FormOutcome::Failed(""))),
            Page::TemplateNotFound => File::compress(PAGE, self.fill("template-not-found", Scope::default())),
            Page::NotFound => File::compress(PAGE, self.fill("not-found", Scope::default())),
            Page::Document(at) => {
                let seller = self.seller.as_ref().and_then(|seller| Some((seller, seller.documents.get(at)?)));
                let page = seller.map(|(seller, document)| format_document(seller, document, &self.origin));
                File::compress(PAGE, page.unwrap_or_default())
            }
            Page::Sitemap => File::compress("sitemap.xml", self.sitemap()),
        }
    }

    /// Returns the page of the form after a submission without a script.
    pub(super) fn form_page(&self, outcome: FormOutcome<'_>) -> String {
        let mut scope = Scope::default();
        let (name, state, details) = match outcome {
            FormOutcome::Received => ("submission-received", json!({ "isReceived": true }), ""),
            FormOutcome::Refused(words, details) => {
                scope.put("refusal", words.to_owned());
                ("submission-refused", json!({ "refusal": words }), details)
            }
            FormOutcome::Failed(details) => ("submission", json!({}), details),
        };
        // A parser of HTML ignores a line break at the beginning of a text field.
        let first = if details.starts_with('\n') { "\n" } else { "" };
        scope.put("details", format!("{first}{details}"));
        scope.put("submission", to_script(&state));
        self.fill(name, scope)
    }

    /// Fills a page with its values and those of all pages.
    fn fill<'a>(&'a self, name: &str, mut scope: Scope<'a>) -> String {
        let Some(template) = self.templates.get(name) else { return String::new() };
        scope.put("origin", self.origin.clone());
        scope.put("config", self.config.clone());
        scope.put("catalogue", to_script(&*self.catalogue));
        scope.put("seller", to_script(&self.seller.as_deref()));
        scope.put_list("sellers", self.seller.iter().map(|seller| seller_scope(seller)).collect());
        template.fill(&scope)
    }

    fn catalogue_scope(&self, chosen: Option<usize>) -> Scope<'_> {
        let Catalogue { templates, categories } = &*self.catalogue;
        let mut scope = Scope::default();
        let names = categories.iter().enumerate().map(|(at, category)| {
            let mut item = Scope::default();
            item.put("name", category.name.as_str());
            item.choose(if chosen == Some(at) { "chosen" } else { "other" });
            item
        });
        scope.put_list("categories", names.collect());
        let chosen = chosen.map(|at| categories[at].name.as_str());
        let shown = templates.iter().filter(|template| chosen.is_none_or(|name| template.category == name));
        let cards = shown.enumerate().map(|(turn, template)| {
            let mut card = self.card_scope(template);
            card.choose(match (self.picture(template).is_some(), turn) {
                (false, _) => "bare",
                (true, 0) => "first",
                (true, _) => "further",
            });
            card
        });
        scope.put_list("cards", cards.collect());
        scope.put("structured_data", to_script(&describe_catalogue(&self.catalogue, &self.origin)));
        scope
    }

    /// Returns the values of a template.
    fn card_scope<'a>(&'a self, template: &'a Template) -> Scope<'a> {
        let mut scope = Scope::default();
        scope.put("id", template.id.to_string());
        scope.put("title", template.title.as_str());
        scope.put("category", template.category.as_str());
        scope.put("name", template.category.as_str());
        scope.put("price", template.price.as_str());
        scope.put("summary", template.summary.as_str());
        scope.put("description", template.description.as_str());
        for (name, feature) in
            ["feature1", "feature2", "feature3", "feature4", "feature5"].into_iter().zip(&template.features)
        {
            scope.put(name, feature.as_str());
        }
        match self.picture(template) {
            Some(Shown::BuiltIn(picture)) => put_built_in(&mut scope, picture),
            Some(Shown::Own(picture)) => put_own(&mut scope, picture),
            None => {}
        }
        scope
    }

    fn template_scope<'a>(&'a self, template: &'a Template) -> Scope<'a> {
        let mut scope = self.card_scope(template);
        if let Some(category) = self.catalogue.categories.iter().find(|category| category.name == template.category) {
            scope.put("tagline", category.tagline.as_str());
            for (name, benefit) in ["benefit1", "benefit2", "benefit3"].into_iter().zip(&category.benefits) {
                scope.put(name, benefit.as_str());
            }
        }
        scope.put("link", template.link.as_deref().unwrap_or_default());
        if let Some(Shown::BuiltIn(picture)) = self.picture(template) {
            scope.put_list("mails", picture["mails"].as_array().into_iter().flatten().map(mail_scope).collect());
        }
        let shared = self.shared_picture(template);
        let data = describe_template(template, &format!("{}{}", self.origin, shared.path), &self.origin);
        scope.put("shared_picture", shared.path);
        scope.put("shared_width", shared.width.to_string());
        scope.put("shared_height", shared.height.to_string());
        scope.put("shared_alt", shared.alt);
        scope.put("structured_data", to_script(&data));
        scope
    }

    /// Returns the picture of the owner's, else the built-in ones.
    fn picture<'a>(&'a self, template: &'a Template) -> Option<Shown<'a>> {
        let built_in = || self.pictures.get(&u64::from(template.id)).map(Shown::BuiltIn);
        template.picture.as_ref().map(Shown::Own).or_else(built_in)
    }

    /// Returns the picture that a shared link of the template shows.
    fn shared_picture<'a>(&'a self, template: &'a Template) -> SharedPicture<'a> {
        let (path, width, height) = match (&template.picture, self.shared.get(&template.id)) {
            (Some(own), _) => (own.src.clone(), own.width, own.height),
            (None, Some(name)) => (format!("/{name}"), 800, 420),
            (None, None) => ("/og.png".to_owned(), 1200, 630),
        };
        let alt = match self.picture(template) {
            Some(Shown::Own(own)) => Cow::Borrowed(own.alt.as_str()),
            Some(Shown::BuiltIn(picture)) => text(&picture["alt"]),
            None => Cow::Borrowed(template.title.as_str()),
        };
        SharedPicture { path, width, height, alt }
    }

    fn sitemap(&self) -> String {
        let mut sitemap = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
                           <urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n"
            .to_owned();
        let templates = self.catalogue.templates.iter().map(|template| format!("{TEMPLATE_PREFIX}{}", template.id));
        let documents =
            self.seller.iter().flat_map(|seller| &seller.documents).map(|document| document.path.to_owned());
        for path in ["/".to_owned(), FORM_PATH.to_owned()].into_iter().chain(templates).chain(documents) {
            let address = foundation::html::escape_html(&format!("{}{path}", self.origin));
            sitemap.extend(["  <url><loc>", &address, "</loc></url>\n"]);
        }
        sitemap + "</urlset>\n"
    }
}

fn list_pages(catalogue: &Catalogue) -> impl Iterator<Item = Page> {
    let fixed = [Page::Catalogue, Page::Submission, Page::TemplateNotFound, Page::NotFound, Page::Sitemap];
    let categories = (0..catalogue.categories.len()).map(Page::Category);
    fixed.into_iter().chain(categories).chain((0..catalogue.templates.len()).map(Page::Template))
}

/// Formats data for a script element, which a `<` could end.
fn to_script(data: &impl Serialize) -> String {
    serde_json::to_string(data).unwrap_or_else(|_| "{}".to_owned()).replace('<', "\\u003c")
}

/// Returns the values of the part below every page.
fn seller_scope(seller: &Seller) -> Scope<'_> {
    let one = |name: &'static str, value: &Option<String>| {
        let item = value.clone().map(|value| Scope { values: vec![(name, value.into())], lists: Vec::new() });
        item.into_iter().collect()
    };
    let mut scope = Scope::default();
    scope.put("seller_name", seller.name.as_str());
    scope.put_list("seller_addresses", one("seller_address", &seller.address));
    scope.put_list("seller_emails", one("seller_email", &seller.email));
    let links = seller.documents.iter().map(|document| {
        let mut link = Scope::default();
        link.put("document_path", document.path);
        link.put("document_title", document.title);
        link
    });
    scope.put_list("documents", links.collect());
    scope
}

fn put_built_in<'a>(scope: &mut Scope<'a>, picture: &'a Value) {
    let (card, detail) = (&picture["card"], &picture["detail"]);
    for (name, value) in [
        ("alt", &picture["alt"]),
        ("card_avif", &card["avif"]),
        ("card_webp", &card["webp"]),
        ("card_src", &card["src"]),
        ("card_width", &card["width"]),
        ("card_height", &card["height"]),
        ("detail_avif", &detail["avif"]),
        ("detail_webp", &detail["webp"]),
        ("detail_src", &detail["src"]),
        ("detail_width", &detail["width"]),
        ("detail_height", &detail["height"]),
    ] {
        scope.put(name, text(value));
    }
    scope.choose("crop");
    scope.put("card_type", "image/avif");
    scope.put("detail_type", "image/avif");
}

/// Returns the values of a further letter of a series, or of a further layout of a mail.
fn mail_scope(mail: &Value) -> Scope<'_> {
    let mut scope = Scope::default();
    for (slot, name) in [
        ("mail_name", "name"),
        ("mail_number", "mail"),
        ("mail_alt", "alt"),
        ("mail_avif", "avif"),
        ("mail_src", "src"),
        ("mail_width", "width"),
        ("mail_height", "height"),
    ] {
        scope.put(slot, text(&mail[name]));
    }
    scope
}

/// One file serves all widths and every browser.
fn put_own<'a>(scope: &mut Scope<'a>, picture: &'a OwnPicture) {
    let file = format!("{} {}w", picture.src, picture.width);
    scope.put("alt", picture.alt.as_str());
    // A page shows the beginning of a long picture; `email-preview.tsx` has the same rule.
    if picture.height * 2 > picture.width * 3 {
        scope.choose("crop");
    }
    for [kind, sources, fallbacks, src, width, height] in [
        ["card_type", "card_avif", "card_webp", "card_src", "card_width", "card_height"],
        ["detail_type", "detail_avif", "detail_webp", "detail_src", "detail_width", "detail_height"],
    ] {
        scope.put(kind, picture.media_type);
        scope.put(sources, file.clone());
        scope.put(fallbacks, file.clone());
        scope.put(src, picture.src.as_str());
        scope.put(width, picture.width.to_string());
        scope.put(height, picture.height.to_string());
    }
}

/// Returns a text, or a number as text.
fn text(value: &Value) -> Cow<'_, str> {
    value.as_str().map_or_else(|| Cow::Owned(value.to_string()), Cow::Borrowed)
}
