//! Reads the text of a catalogue into entries, with the line of each.

use std::ops::Range;

use platform::nearest::find_nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use url::Url;
use uuid::Uuid;

use crate::problem::{Problem, line_number};

const ROOT_KEYS: [&str; 4] = ["order", "template", "category", "other_categories"];
const TEMPLATE_KEYS: [&str; 12] = [
    "id",
    "title",
    "category",
    "price",
    "summary",
    "description",
    "features",
    "link",
    "payment_reference",
    "picture",
    "picture_alt",
    "visible",
];
const CATEGORY_KEYS: [&str; 3] = ["name", "tagline", "benefits"];

/// The highest id of a template.
const MAX_ID: u16 = 9999;
/// The longest payment link, in bytes.
const MAX_LINK: usize = 2000;
/// The longest path of a picture, in bytes.
const MAX_PATH: usize = 200;
/// The largest number of ids at payment providers.
const MAX_REFERENCES: usize = 20;

/// The entries of a catalogue.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// The ids that come first, with the line of the list.
    pub order: Vec<u16>,
    pub order_line: usize,
    pub templates: Vec<TemplateEntry>,
    /// The categories; the one of all others has no name.
    pub categories: Vec<CategoryEntry>,
}

/// The given values of a template.
#[derive(Debug, Default)]
pub(super) struct TemplateEntry {
    pub line: usize,
    pub id: u16,
    pub title: Option<String>,
    pub category: Option<String>,
    pub price: Option<String>,
    pub summary: Option<String>,
    pub description: Option<String>,
    pub features: Option<Vec<String>>,
    /// Empty for none.
    pub link: Option<String>,
    /// The ids at payment providers.
    pub payment_references: Option<Vec<String>>,
    /// The file of its picture, with the line; an empty path for none.
    pub picture: Option<(usize, String)>,
    /// The picture that the owner has uploaded at the desk.
    pub uploaded_picture: Option<Uuid>,
    pub picture_alt: Option<String>,
    pub visible: Option<bool>,
}

/// The texts of a category.
#[derive(Debug, Default, Clone)]
pub(super) struct CategoryEntry {
    pub line: usize,
    pub name: Option<String>,
    pub tagline: Option<String>,
    pub benefits: Option<Vec<String>>,
}

/// Reads the entries; all problems are reported with their lines.
pub(super) fn read(text: &str) -> Result<Entries, Vec<Problem>> {
    let (document, errors) = DeTable::parse_recoverable(text);
    let syntax = |error: &toml::de::Error| Problem {
        line: error.span().map(|span| line_number(text, &span)),
        text: format!("this is not TOML: {}", error.message()),
    };
    if !errors.is_empty() {
        return Err(errors.iter().map(syntax).collect());
    }
    let mut reader = Reader { text, subject: String::new(), problems: Vec::new() };
    let entries = reader.read_root(document.get_ref());
    if reader.problems.is_empty() { Ok(entries) } else { Err(reader.problems) }
}

struct Reader<'a> {
    text: &'a str,
    /// The entry that is being read, as messages name it: `template 4: `.
    subject: String,
    problems: Vec<Problem>,
}

type Value<'a> = Spanned<DeValue<'a>>;

impl Reader<'_> {
    fn read_root(&mut self, root: &DeTable<'_>) -> Entries {
        let mut entries = Entries::default();
        for (name, value) in root {
            match name.get_ref().as_ref() {
                "order" => {
                    entries.order_line = line_number(self.text, &value.span());
                    entries.order = self.read_order(value);
                }
                "template" => {
                    entries.templates = self.tables(value, "template").map(|table| self.read_template(table)).collect();
                }
                "category" => {
                    entries
                        .categories
                        .extend(self.tables(value, "category").map(|table| self.read_category(table, true)));
                }
                "other_categories" if value.get_ref().is_table() => {
                    entries.categories.push(self.read_category(value, false));
                }
                "other_categories" => self.report(&value.span(), "other_categories must be a table"),
                other => self.report_unknown(&name.span(), other, &ROOT_KEYS),
            }
        }
        entries
    }

    /// Returns the tables of `[[name]]`.
    fn tables<'v, 'd>(&mut self, value: &'v Value<'d>, name: &str) -> std::vec::IntoIter<&'v Value<'d>> {
        let items: Vec<&Value<'_>> = match value.get_ref() {
            DeValue::Array(items) => items.iter().filter(|item| item.get_ref().is_table()).collect(),
            _ => Vec::new(),
        };
        if items.is_empty() {
            self.report(&value.span(), &format!("{name} must be written as [[{name}]]"));
        }
        items.into_iter()
    }

    fn read_order(&mut self, value: &Value<'_>) -> Vec<u16> {
        let DeValue::Array(items) = value.get_ref() else {
            self.report(&value.span(), "order must be a list of ids, such as [4, 1]");
            return Vec::new();
        };
        items.iter().filter_map(|item| self.read_id("order", item)).collect()
    }

    fn read_template(&mut self, entry: &Value<'_>) -> TemplateEntry {
        let mut read = TemplateEntry { line: line_number(self.text, &entry.span()), ..TemplateEntry::default() };
        let Some(table) = entry.get_ref().as_table() else { return read };
        "a template: ".clone_into(&mut self.subject);
        match table.get("id") {
            Some(id) => read.id = self.read_id("id", id).unwrap_or_default(),
            None => self.report(&entry.span(), "id is missing: give the number of its page"),
        }
        self.subject = format!("template {}: ", read.id);
        for (name, value) in table {
            match name.get_ref().as_ref() {
                "id" => {}
                "title" => read.title = self.read_text("title", value, 80),
                "category" => read.category = self.read_text("category", value, 30),
                "price" => read.price = self.read_price(value),
                "summary" => read.summary = self.read_text("summary", value, 60),
                "description" => read.description = self.read_text("description", value, 400),
                "features" => read.features = self.read_list("features", value, 5),
                "link" => read.link = self.read_link(value),
                "payment_reference" => read.payment_references = self.read_references(value),
                "picture" => read.picture = self.read_path(value),
                "picture_alt" => read.picture_alt = self.read_text("picture_alt", value, 160),
                "visible" => read.visible = self.read_switch("visible", value),
                other => self.report_unknown(&name.span(), other, &TEMPLATE_KEYS),
            }
        }
        self.subject.clear();
        read
    }

    fn read_category(&mut self, entry: &Value<'_>, has_name: bool) -> CategoryEntry {
        let mut read = CategoryEntry { line: line_number(self.text, &entry.span()), ..CategoryEntry::default() };
        let Some(table) = entry.get_ref().as_table() else { return read };
        self.subject = if has_name { "a category: ".to_owned() } else { "other_categories: ".to_owned() };
        for (name, value) in table {
            match name.get_ref().as_ref() {
                "name" if has_name => read.name = self.read_text("name", value, 30),
                "tagline" => read.tagline = self.read_text("tagline", value, 60),
                "benefits" => read.benefits = self.read_list("benefits", value, 3),
                other => self.report_unknown(&name.span(), other, &CATEGORY_KEYS),
            }
        }
        if has_name && !table.contains_key("name") {
            self.report(&entry.span(), "name is missing: give the category's name");
        }
        for (key, is_missing) in [("tagline", read.tagline.is_none()), ("benefits", read.benefits.is_none())] {
            if is_missing && !table.contains_key(key) {
                self.report(&entry.span(), &format!("{key} is missing: a category needs a tagline and three benefits"));
            }
        }
        self.subject.clear();
        read
    }

    fn read_id(&mut self, key: &str, value: &Value<'_>) -> Option<u16> {
        let id = match value.get_ref() {
            DeValue::Integer(number) => u16::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        let id = id.filter(|id| (1..=MAX_ID).contains(id));
        if id.is_none() {
            self.report(&value.span(), &format!("{key} must hold whole numbers from 1 to {MAX_ID}"));
        }
        id
    }

    fn read_text(&mut self, key: &str, value: &Value<'_>, longest: usize) -> Option<String> {
        let text = value.get_ref().as_str().map(str::trim).filter(|text| is_line(text, longest));
        if text.is_none() {
            self.report(
                &value.span(),
                &format!("{key} must be a text in quotes of one line, 1 to {longest} characters"),
            );
        }
        text.map(str::to_owned)
    }

    fn read_price(&mut self, value: &Value<'_>) -> Option<String> {
        let price = value.get_ref().as_str().filter(|price| is_price(price));
        if price.is_none() {
            let text = "price must be a dollar sign and an amount in quotes, such as \"$28\" or \"$28.50\"";
            self.report(&value.span(), text);
        }
        price.map(str::to_owned)
    }

    fn read_link(&mut self, value: &Value<'_>) -> Option<String> {
        let link = value.get_ref().as_str().filter(|link| link.is_empty() || is_https_url(link));
        if link.is_none() {
            let text = "link must be an https URL at the payment provider, or \"\" for a custom design";
            self.report(&value.span(), text);
        }
        link.map(str::to_owned)
    }

    /// Reads the path of a file, with its line.
    fn read_path(&mut self, value: &Value<'_>) -> Option<(usize, String)> {
        let path = value.get_ref().as_str();
        let path = path.filter(|path| path.len() <= MAX_PATH && !path.chars().any(char::is_control));
        if path.is_none() {
            let text = "picture must be the path of a picture file in quotes, or \"\" for none";
            self.report(&value.span(), text);
        }
        path.map(|path| (line_number(self.text, &value.span()), path.to_owned()))
    }

    /// Reads one id at a payment provider, or a list of several.
    fn read_references(&mut self, value: &Value<'_>) -> Option<Vec<String>> {
        let read = |item: &DeValue<'_>| item.as_str().map(str::trim).filter(|id| is_line(id, 120)).map(str::to_owned);
        let ids: Option<Vec<String>> = match value.get_ref() {
            DeValue::Array(items) => items.iter().map(|item| read(item.get_ref())).collect(),
            one => read(one).map(|id| vec![id]),
        };
        let ids = ids.filter(|ids| ids.len() <= MAX_REFERENCES);
        if ids.is_none() {
            let text = "payment_reference must be the id of its payment link, item or variant in quotes, or a list of up to 20 such ids";
            self.report(&value.span(), text);
        }
        ids
    }

    fn read_list(&mut self, key: &str, value: &Value<'_>, count: usize) -> Option<Vec<String>> {
        let items: Vec<String> = match value.get_ref() {
            DeValue::Array(items) => items
                .iter()
                .filter_map(|item| item.get_ref().as_str().map(str::trim).filter(|text| is_line(text, 80)))
                .map(str::to_owned)
                .collect(),
            _ => Vec::new(),
        };
        let given = value.get_ref().as_array().map_or(0, |items| items.iter().count());
        let differ = items.iter().enumerate().all(|(at, item)| !items[..at].contains(item));
        if items.len() == count && given == count && differ {
            return Some(items);
        }
        self.report(
            &value.span(),
            &format!("{key} must be {count} different texts of one line, 1 to 80 characters each"),
        );
        None
    }

    fn read_switch(&mut self, key: &str, value: &Value<'_>) -> Option<bool> {
        if let DeValue::Boolean(is_on) = value.get_ref() {
            return Some(*is_on);
        }
        self.report(&value.span(), &format!("{key} must be true or false"));
        None
    }

    fn report_unknown(&mut self, span: &Range<usize>, key: &str, known: &[&str]) {
        let nearest = find_nearest(key, known.iter().copied(), 2);
        let hint =
            nearest.map_or_else(|| format!("known are {}", known.join(", ")), |meant| format!("did you mean {meant}?"));
        self.report(span, &format!("{key} is not known; {hint}"));
    }

    fn report(&mut self, span: &Range<usize>, text: &str) {
        let line = Some(line_number(self.text, span));
        self.problems.push(Problem { line, text: format!("{}{text}", self.subject) });
    }
}

fn is_line(text: &str, longest: usize) -> bool {
    !text.is_empty() && text.chars().take(longest + 1).count() <= longest && !text.chars().any(char::is_control)
}

/// Returns whether a text is `$`, up to seven digits without leading zeros, and two decimals or none.
fn is_price(price: &str) -> bool {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some(amount) = price.strip_prefix('$') else { return false };
    let (whole, cents) = amount.split_once('.').unwrap_or((amount, "00"));
    let is_whole = is_digits(whole) && whole.len() <= 7 && (whole == "0" || !whole.starts_with('0'));
    is_whole && is_digits(cents) && cents.len() == 2
}

fn is_https_url(link: &str) -> bool {
    link.len() <= MAX_LINK && Url::parse(link).is_ok_and(|url| url.scheme() == "https" && url.host().is_some())
}
