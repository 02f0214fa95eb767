//! The words of an HTML mail, for readers that show no HTML: blocks become lines, links keep their addresses, lists their
//! dashes, what is hidden stays hidden. Reads the text once, takes any, and never gives more than a few times its size.

mod entities;
mod page;
mod tags;

use self::entities::decoded;
use self::page::Page;
use self::tags::{Tag, Token, tokens};

/// Elements whose content nobody reads.
const UNREAD: [&str; 9] = ["head", "title", "style", "script", "template", "noscript", "svg", "object", "select"];
/// Elements that start and end a line.
const LINES: [&str; 15] = [
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
/// Elements with an empty line around them.
const PARAGRAPHS: [&str; 15] =
    ["p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "dl", "table", "pre", "blockquote", "figure", "fieldset"];
/// Elements without an end.
const VOID: [&str; 14] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"];

/// The words of `html`.
pub fn plain(html: &str) -> String {
    let mut reader = Reader::default();
    for token in tokens(html) {
        match token {
            Token::Text(text) => reader.text(text),
            Token::Open(tag) => reader.open(&tag),
            Token::Close(name) => reader.close(&name),
        }
    }
    reader.end()
}

#[derive(Default)]
struct Reader {
    page: Page,
    /// The element whose content is not shown, and how many of its kind are open inside.
    hidden: Option<(String, usize)>,
    /// Where the link leads that is being read, and its words so far.
    link: Option<(String, Page)>,
    /// How many `pre` are open.
    pre: usize,
}

impl Reader {
    fn text(&mut self, text: &str) {
        if self.hidden.is_some() {
            return;
        }
        let text = decoded(text);
        let pre = self.pre > 0;
        let page = self.link.as_mut().map_or(&mut self.page, |(_, words)| words);
        if pre { page.verbatim(&text) } else { page.words(&text) }
    }

    fn open(&mut self, tag: &Tag<'_>) {
        let name = tag.name.as_str();
        if let Some((hidden, depth)) = &mut self.hidden {
            *depth += usize::from(hidden == name);
            return;
        }
        let is_void = VOID.contains(&name);
        if UNREAD.contains(&name) || (!is_void && is_hidden(tag)) {
            self.hidden = (!tag.is_closed).then(|| (name.to_owned(), 0));
            return;
        }
        match name {
            "a" => self.open_link(tag),
            "br" => self.here().line(),
            "hr" => self.rule(),
            "img" => self.image(tag),
            "td" | "th" => self.here().words(" "),
            "pre" => {
                self.here().paragraph();
                self.pre += 1;
            }
            "li" => {
                self.here().line();
                self.here().words("- ");
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
                self.here().paragraph();
            }
            _ => self.block(name),
        }
    }

    fn block(&mut self, name: &str) {
        if PARAGRAPHS.contains(&name) {
            self.here().paragraph();
        } else if LINES.contains(&name) {
            self.here().line();
        }
    }

    fn rule(&mut self) {
        self.here().paragraph();
        self.here().words("---");
        self.here().paragraph();
    }

    /// What stands for an image where there is one word to say about it.
    fn image(&mut self, tag: &Tag<'_>) {
        let alt = tag.attribute("alt").map(|alt| decoded(&alt)).unwrap_or_default();
        self.here().words(&alt);
    }

    fn open_link(&mut self, tag: &Tag<'_>) {
        self.close_link();
        let target = tag.attribute("href").map(|href| decoded(href.trim())).unwrap_or_default();
        self.link = Some((target, Page::default()));
    }

    /// The words of a link, and where it leads unless the words say so or it leads nowhere outside the mail.
    fn close_link(&mut self) {
        let Some((target, words)) = self.link.take() else { return };
        let words = words.finished();
        let target: String = target.chars().filter(|c| !c.is_control()).collect();
        let address = target.strip_prefix("mailto:").unwrap_or(&target);
        let leads = ["http://", "https://", "mailto:"].iter().any(|scheme| target.starts_with(scheme));
        self.page.words(&words);
        if leads && words != address && words != target {
            self.page.words(if words.is_empty() { "" } else { ": " });
            self.page.words(address);
        }
    }

    fn here(&mut self) -> &mut Page {
        self.link.as_mut().map_or(&mut self.page, |(_, words)| words)
    }

    fn end(mut self) -> String {
        self.close_link();
        self.page.finished()
    }
}

/// Whether an element is there for machines alone: a preview that mail programs list, a picture that counts readers.
fn is_hidden(tag: &Tag<'_>) -> bool {
    let style: String = tag.attribute("style").unwrap_or_default().to_ascii_lowercase();
    let style: String = style.chars().filter(|c| !c.is_whitespace()).collect();
    tag.attribute("hidden").is_some()
        || tag.attribute("aria-hidden").is_some_and(|value| value == "true")
        || style.contains("display:none")
        || style.contains("visibility:hidden")
}
