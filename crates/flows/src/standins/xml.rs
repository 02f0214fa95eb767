//! Reads XML that servers of SAML produce into values: `name`, `attributes`, `text`, `children`.

use roxmltree::{Document, Node};
use serde_json::{Map, Value, json};

use super::arguments::Arguments;
use crate::FlowError;

/// The deepest element.
const MAX_DEPTH: usize = 64;

/// Answers a call; `None` if the name is none of XML.
pub(super) fn call(name: &str, arguments: &Value) -> Result<Option<Value>, FlowError> {
    let of = Arguments::new(name, arguments);
    Ok(Some(match name {
        "xml" => parse(of.text(0)?).ok_or_else(|| of.wanted("[text of XML]"))?,
        "xml_find" => {
            let is_deep = of.any(2).is_ok_and(|deep| *deep == true);
            let found = find(of.any(0)?, of.text(1)?, is_deep);
            found.cloned().ok_or_else(|| of.wanted("[element, name]; there is no such element"))?
        }
        "xml_all" => children(of.any(0)?)
            .iter()
            .filter(|child| child["name"] == of.text(1).unwrap_or_default())
            .cloned()
            .collect(),
        _ => return Ok(None),
    }))
}

fn children(element: &Value) -> &[Value] {
    element["children"].as_array().map_or(&[], Vec::as_slice)
}

/// Finds the first child of a local name, or the first element below.
pub(super) fn find<'a>(element: &'a Value, name: &str, is_deep: bool) -> Option<&'a Value> {
    children(element).iter().find_map(|child| {
        if child["name"] == name {
            return Some(child);
        }
        is_deep.then(|| find(child, name, true)).flatten()
    })
}

/// Parses a document without a document type.
///
/// Names of elements and attributes are without their prefixes.
pub(super) fn parse(text: &str) -> Option<Value> {
    let document = Document::parse(text).ok()?;
    element(document.root_element(), 1)
}

/// Writes an element as a value; `None` if it is too deep.
fn element(node: Node, depth: usize) -> Option<Value> {
    if depth > MAX_DEPTH {
        return None;
    }
    let attributes: Map<_, _> =
        node.attributes().map(|attribute| (attribute.name().to_owned(), attribute.value().into())).collect();
    let children = node.children().filter(Node::is_element).map(|child| element(child, depth + 1));
    Some(json!({
        "name": node.tag_name().name(),
        "attributes": attributes,
        "text": node.text().unwrap_or_default(),
        "children": children.collect::<Option<Vec<_>>>()?,
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn elements_have_local_names_attributes_and_text() {
        let root =
            parse("<?xml version=\"1.0\"?><a:Root xmlns:a=\"x\" ID='7'><a:Child>1 &lt; 2</a:Child><b/></a:Root>");
        let root = root.expect("the text is XML");
        assert_eq!(root["name"], "Root");
        assert_eq!(root["attributes"], json!({ "ID": "7" }));
        assert_eq!(find(&root, "Child", false).expect("there is a child")["text"], "1 < 2");
        assert_eq!(children(&root).len(), 2);
    }

    #[test]
    fn deep_elements_are_rejected() {
        let nested = |depth: usize| format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth));
        assert!(parse(&nested(MAX_DEPTH)).is_some());
        assert!(parse(&nested(MAX_DEPTH + 1)).is_none());
    }

    #[test]
    fn values_without_quotes_are_rejected() {
        assert_eq!(parse("<a b=\u{f85}c\u{f85}/>"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_rejected(text in "(<|/|>|=|\"|a|&|\\PC){0,60}") {
            let _ = parse(&text);
        }

        #[test]
        fn attributes_and_text_are_read_as_written(value in "[^<&\"\\pC\\s]{0,20}", text in "[^<&>\\pC]{1,20}") {
            let root = parse(&format!("<a b=\"{value}\">{text}</a>")).expect("the text is XML");
            prop_assert_eq!(&root["attributes"]["b"], &value);
            prop_assert_eq!(&root["text"], &text);
        }
    }
}
