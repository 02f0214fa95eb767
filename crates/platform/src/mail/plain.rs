//! Converts an HTML mail to plain text: blocks become lines, links keep their URLs, lists get dashes.
//!
//! Hidden elements are skipped. Runs in linear time, accepts any input, and the output is at most a few times as long.

mod page;
mod tags;

use foundation::html::decode_references;

use self::page::Page;
use self::tags::{Tag, Token, tokenize};

/// Elements whose content is skipped.
const SKIPPED_ELEMENTS: [&str; 9] =
    ["head", "title", "style", "script", "template", "noscript", "svg", "object", "select"];
/// Elements that start and end a line.
const LINE_ELEMENTS: [&str; 15] = [
    "div",
    "tr",
    "li",
    "dt",
    "dd",
    "section",
    "article",
    "header",
    "footer",
    "main",
    "nav",
    "address",
    "form",
    "figcaption",
    "caption",
];
/// Elements surrounded by empty lines.
const PARAGRAPH_ELEMENTS: [&str; 15] =
    ["p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "dl", "table", "pre", "blockquote", "figure", "fieldset"];
/// Void elements, which have no end tag.
const VOID_ELEMENTS: [&str; 14] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"];

/// Converts `html` to plain text.
pub fn to_plain_text(html: &str) -> String {
    let mut reader = Reader::default();
    for token in tokenize(html) {
        match token {
            Token::Text(text) => reader.text(text),
            Token::Open(tag) => reader.open(&tag),
            Token::Close(name) => reader.close(&name),
        }
    }
    reader.end()
}

/// Returns the targets of the links in `html` in their order, each once.
///
/// Targets without a scheme and a host are left out.
pub fn list_links(html: &str) -> Vec<String> {
    let mut links = Vec::new();
    for token in tokenize(html) {
        let Token::Open(tag) = token else { continue };
        if !matches!(tag.name.as_str(), "a" | "area") {
            continue;
        }
        let target = tag.attribute("href").map(|href| decode_references(href.trim())).unwrap_or_default();
        let target: String = target.chars().filter(|c| !c.is_control()).collect();
        if target.contains("://") && !links.contains(&target) {
            links.push(target);
        }
    }
    links
}

#[derive(Default)]
struct Reader {
    page: Page,
    /// The hidden element, and how many nested elements of its name are open.
    hidden: Option<(String, usize)>,
    /// The URL and the text so far of the open link.
    link: Option<(String, Page)>,
    /// The number of open `pre` elements.
    pre: usize,
}

impl Reader {
    fn text(&mut self, text: &str) {
        if self.hidden.is_some() {
            return;
        }
        let text = decode_references(text);
        let pre = self.pre > 0;
        let page = self.link.as_mut().map_or(&mut self.page, |(_, words)| words);
        if pre { page.add_verbatim(&text) } else { page.add_words(&text) }
    }

    fn open(&mut self, tag: &Tag<'_>) {
        let name = tag.name.as_str();
        if let Some((hidden, depth)) = &mut self.hidden {
            *depth += usize::from(hidden == name);
            return;
        }
        let is_void = VOID_ELEMENTS.contains(&name);
        if SKIPPED_ELEMENTS.contains(&name) || (!is_void && is_hidden(tag)) {
            self.hidden = (!tag.is_closed).then(|| (name.to_owned(), 0));
            return;
        }
        match name {
            "a" => self.open_link(tag),
            "br" => self.current_page().break_line(),
            "hr" => self.rule(),
            "img" => self.image(tag),
            "td" | "th" => self.current_page().add_words(" "),
            "pre" => {
                self.current_page().break_paragraph();
                self.pre += 1;
            }
            "li" => {
                self.current_page().break_line();
                self.current_page().add_words("- ");
            }
            _ => self.block(name),
        }
    }

    fn close(&mut self, name: &str) {
        if let Some((hidden, depth)) = &mut self.hidden {
            if hidden == name {
                match depth.checked_sub(1) {
                    Some(less) => *depth = less,
                    None => self.hidden = None,
                }
            }
            return;
        }
        match name {
            "a" => self.close_link(),
            "pre" => {
                self.pre = self.pre.saturating_sub(1);
                self.current_page().break_paragraph();
            }
            _ => self.block(name),
        }
    }

    fn block(&mut self, name: &str) {
        if PARAGRAPH_ELEMENTS.contains(&name) {
            self.current_page().break_paragraph();
        } else if LINE_ELEMENTS.contains(&name) {
            self.current_page().break_line();
        }
    }

    fn rule(&mut self) {
        self.current_page().break_paragraph();
        self.current_page().add_words("---");
        self.current_page().break_paragraph();
    }

    /// Adds the alternative text of an image.
    fn image(&mut self, tag: &Tag<'_>) {
        let alt = tag.attribute("alt").map(|alt| decode_references(&alt)).unwrap_or_default();
        self.current_page().add_words(&alt);
    }

    fn open_link(&mut self, tag: &Tag<'_>) {
        self.close_link();
        let target = tag.attribute("href").map(|href| decode_references(href.trim())).unwrap_or_default();
        self.link = Some((target, Page::default()));
    }

    /// Adds the text of a link, and its URL unless the text contains it or it is not an external URL.
    fn close_link(&mut self) {
        let Some((target, words)) = self.link.take() else { return };
        let words = words.into_text();
        let target: String = target.chars().filter(|c| !c.is_control()).collect();
        let address = target.strip_prefix("mailto:").unwrap_or(&target);
        let leads = ["http://", "https://", "mailto:"].iter().any(|scheme| target.starts_with(scheme));
        self.page.add_words(&words);
        if leads && words != address && words != target {
            self.page.add_words(if words.is_empty() { "" } else { ": " });
            self.page.add_words(address);
        }
    }

    fn current_page(&mut self) -> &mut Page {
        self.link.as_mut().map_or(&mut self.page, |(_, words)| words)
    }

    fn end(mut self) -> String {
        self.close_link();
        self.page.into_text()
    }
}

/// Whether an element is invisible: preview text or a tracking pixel.
fn is_hidden(tag: &Tag<'_>) -> bool {
    let style: String = tag.attribute("style").unwrap_or_default().to_ascii_lowercase();
    let style: String = style.chars().filter(|c| !c.is_whitespace()).collect();
    tag.attribute("hidden").is_some()
        || tag.attribute("aria-hidden").is_some_and(|value| value == "true")
        || style.contains("display:none")
        || style.contains("visibility:hidden")
}
