//! XML bodies of requests and responses.

use std::fmt::Write;

/// The namespace of responses.
const NAMESPACE: &str = "http://s3.amazonaws.com/doc/2006-03-01/";

/// The root of errors. It has no namespace, as that of AWS: programs such as botocore find no code in one with a namespace.
/// Blanks in its place keep the length that answers to HEAD have in the recordings.
const ERROR: &str = "Error";

/// An element of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Element {
    name: &'static str,
    content: ElementContent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ElementContent {
    Text(String),
    Children(Vec<Element>),
}

impl Element {
    /// An element with text.
    pub(crate) fn text(name: &'static str, text: impl Into<String>) -> Self {
        Self { name, content: ElementContent::Text(text.into()) }
    }

    /// An element with others in it.
    pub(crate) fn new(name: &'static str, children: Vec<Self>) -> Self {
        Self { name, content: ElementContent::Children(children) }
    }

    /// The document with this element as its root.
    pub(crate) fn to_document(&self) -> String {
        let mut document = String::from(r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>"#);
        let namespace = format!(" xmlns=\"{NAMESPACE}\"");
        if self.name == ERROR {
            self.write(&mut document, "");
            document.extend(std::iter::repeat_n(' ', namespace.len()));
        } else {
            self.write(&mut document, &namespace);
        }
        document
    }

    fn write(&self, document: &mut String, attributes: &str) {
        let name = self.name;
        // Writing to a `String` cannot fail.
        let _ = match &self.content {
            ElementContent::Text(text) if text.is_empty() => write!(document, "<{name}{attributes}/>"),
            ElementContent::Children(children) if children.is_empty() => write!(document, "<{name}{attributes}/>"),
            ElementContent::Text(text) => write!(document, "<{name}{attributes}>{}</{name}>", escape(text)),
            ElementContent::Children(children) => {
                let _ = write!(document, "<{name}{attributes}>");
                for child in children {
                    child.write(document, "");
                }
                write!(document, "</{name}>")
            }
        };
    }
}

/// Escapes text; characters that XML 1.0 cannot have are replaced.
fn escape(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut escaped, character| {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\r' => escaped.push_str("&#xD;"),
            '\t' | '\n' => escaped.push(character),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            _ => escaped.push(character),
        }
        escaped
    })
}

/// The text of the children of this name, of a node.
pub(crate) fn child_text<'a>(node: roxmltree::Node<'a, '_>, name: &str) -> Option<&'a str> {
    let child = node.children().find(|child| child.tag_name().name() == name)?;
    Some(child.text().unwrap_or_default())
}

/// The elements of this name inside a node.
pub(crate) fn children<'a, 'input>(
    node: roxmltree::Node<'a, 'input>,
    name: &'static str,
) -> impl Iterator<Item = roxmltree::Node<'a, 'input>> {
    node.children().filter(move |child| child.tag_name().name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_have_the_namespace_unless_they_are_errors() {
        let error = Element::new(
            "Error",
            vec![
                Element::text("Resource", "rc-none"),
                Element::text("Code", "NoSuchBucket"),
                Element::text("Message", "Bucket not found"),
            ],
        );
        let document = error.to_document();
        // The length that was recorded.
        assert_eq!(document.len(), 206);
        let parsed = roxmltree::Document::parse(&document).unwrap();
        assert_eq!(parsed.root_element().tag_name(), roxmltree::ExpandedName::from("Error"));
        let escaped = Element::text("Key", "a<b>&\r\u{1}ä").to_document();
        assert!(escaped.ends_with("\">a&lt;b&gt;&amp;&#xD;\u{fffd}ä</Key>"));
        assert!(roxmltree::Document::parse(&escaped).is_ok());
    }
}
