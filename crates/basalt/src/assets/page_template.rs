//! A prerendered page with slots: values, and parts that are repeated or left out.
//!
//! `{{name}}` is a value, escaped for HTML; `{{&name}}` a value as it is. `{{#name}}…{{/name}}` is repeated for each item
//! of a list.

use std::borrow::Cow;

use foundation::html::escape_html;

const OPEN: &str = "{{";
const CLOSE: &str = "}}";

/// A page with slots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageTemplate {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Value { name: String, is_html: bool },
    List { name: String, parts: Vec<Part> },
}

/// The values and lists of a part of the page.
/// A name that is missing is looked up in the part around it.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope<'a> {
    /// The values, by name.
    pub values: Vec<(&'static str, Cow<'a, str>)>,
    /// The lists, by name.
    pub lists: Vec<(&'static str, Vec<Scope<'a>>)>,
}

impl<'a> Scope<'a> {
    /// Adds a value.
    pub(super) fn put(&mut self, name: &'static str, value: impl Into<Cow<'a, str>>) {
        self.values.push((name, value.into()));
    }

    /// Adds a list.
    pub(super) fn put_list(&mut self, name: &'static str, items: Vec<Scope<'a>>) {
        self.lists.push((name, items));
    }

    /// Chooses one of several alternatives.
    pub(super) fn choose(&mut self, alternative: &'static str) {
        self.put_list(alternative, vec![Scope::default()]);
    }
}

impl PageTemplate {
    /// Parses the slots of a page; `None` if a part is not closed, or closed without being open.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut open: Vec<(String, Vec<Part>)> = Vec::new();
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(OPEN) {
            let (mark, after) = after.split_once(CLOSE)?;
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned()));
            }
            rest = after;
            match mark.trim().split_at_checked(1)? {
                ("#", name) => open.push((name.to_owned(), std::mem::take(&mut parts))),
                ("/", closed) => {
                    let (name, around) = open.pop().filter(|(name, _)| name == closed)?;
                    let inner = std::mem::replace(&mut parts, around);
                    parts.push(Part::List { name, parts: inner });
                }
                ("&", name) => parts.push(Part::Value { name: name.to_owned(), is_html: true }),
                _ => parts.push(Part::Value { name: mark.trim().to_owned(), is_html: false }),
            }
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        open.is_empty().then_some(Self { parts })
    }

    /// Returns the page with these values.
    pub(super) fn fill(&self, scope: &Scope<'_>) -> String {
        let mut page = String::new();
        write_parts(&self.parts, &mut vec![scope], &mut page);
        page
    }
}

fn write_parts<'s>(parts: &[Part], scopes: &mut Vec<&'s Scope<'s>>, page: &mut String) {
    for part in parts {
        match part {
            Part::Text(text) => page.push_str(text),
            Part::Value { name, is_html } => {
                let value = scopes.iter().rev().find_map(|scope| find(&scope.values, name));
                let value = value.map_or("", |value| value.as_ref());
                if *is_html {
                    page.push_str(value);
                } else {
                    page.push_str(&escape_html(value));
                }
            }
            Part::List { name, parts } => {
                let items = scopes.iter().rev().find_map(|scope| find(&scope.lists, name));
                for item in items.into_iter().flatten() {
                    scopes.push(item);
                    write_parts(parts, scopes, page);
                    scopes.pop();
                }
            }
        }
    }
}

fn find<'s, T>(entries: &'s [(&'static str, T)], name: &str) -> Option<&'s T> {
    entries.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_are_escaped_unless_they_are_html() {
        let page = PageTemplate::parse("<p title=\"{{a}}\">{{ a }}</p>{{&a}}{{missing}}").expect("a page");
        let mut scope = Scope::default();
        scope.put("a", "<b> & \"c\" {{a}}");
        let escaped = "&lt;b&gt; &amp; &quot;c&quot; {{a}}";
        let expected = format!("<p title=\"{escaped}\">{escaped}</p><b> & \"c\" {{{{a}}}}");
        assert_eq!(page.fill(&scope), expected);
    }

    #[test]
    fn parts_are_repeated_and_see_the_values_around_them() {
        let page = PageTemplate::parse("{{#item}}{{shop}}{{name}}{{#on}}!{{/on}};{{/item}}").expect("a page");
        let item = |name: &'static str, is_on: bool| {
            let mut item = Scope::default();
            item.put("name", name);
            if is_on {
                item.choose("on");
            }
            item
        };
        let mut scope = Scope::default();
        scope.put("shop", "S");
        scope.put_list("item", vec![item("a", true), item("b", false)]);
        assert_eq!(page.fill(&scope), "Sa!;Sb;");
        assert_eq!(page.fill(&Scope::default()), "");
    }

    #[test]
    fn unbalanced_parts_are_rejected() {
        for text in ["{{#a}}", "{{/a}}", "{{#a}}{{#b}}{{/a}}{{/b}}", "{{a", "{{}}"] {
            assert_eq!(PageTemplate::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn text_without_slots_is_kept(text in "[^{]{0,40}") {
            let page = PageTemplate::parse(&text).map(|page| page.fill(&Scope::default()));
            prop_assert_eq!(page, Some(text));
        }

        #[test]
        fn arbitrary_text_does_not_panic(text in "(\\{\\{[#/&]?[ab]?\\}?\\}?|.){0,12}") {
            let _ = PageTemplate::parse(&text).map(|page| page.fill(&Scope::default()));
        }
    }
}
