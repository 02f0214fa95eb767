//! Reads XML that servers of SAML produce into values: `name`, `attributes`, `text`, `children`.

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

/// Parses a document; names of elements are without their prefixes.
pub(super) fn parse(text: &str) -> Option<Value> {
    let mut open: Vec<Value> = Vec::new();
    let mut rest = text;
    loop {
        let at = rest.find('<')?;
        if let Some(parent) = open.last_mut()
            && children(parent).is_empty()
        {
            let text = format!("{}{}", parent["text"].as_str().unwrap_or_default(), unescape(&rest[..at]));
            parent["text"] = text.into();
        }
        rest = &rest[at + 1..];
        let end = rest.find('>')?;
        let tag = &rest[..end];
        rest = &rest[end + 1..];
        if tag.starts_with(['?', '!']) {
            continue;
        }
        let is_empty = tag.ends_with('/');
        if !tag.starts_with('/') {
            open.push(element(tag.trim_end_matches('/')));
        }
        if open.len() > MAX_DEPTH {
            return None;
        }
        if is_empty || tag.starts_with('/') {
            let closed = open.pop()?;
            match open.last_mut() {
                Some(parent) => parent["children"].as_array_mut()?.push(closed),
                None => return Some(closed),
            }
        }
    }
}

fn element(tag: &str) -> Value {
    let (name, mut rest) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
    let mut attributes = Map::new();
    while let Some((name, behind)) = rest.split_once('=') {
        let behind = behind.trim_start();
        let Some(quote) = behind.chars().next() else { break };
        let Some((value, others)) = behind[1..].split_once(quote) else { break };
        let name = name.trim();
        if !name.starts_with("xmlns") {
            attributes.insert(name.to_owned(), unescape(value).into());
        }
        rest = others;
    }
    let local = name.rsplit(':').next().unwrap_or(name);
    json!({ "name": local, "attributes": attributes, "text": "", "children": [] })
}

fn unescape(text: &str) -> String {
    let plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#34;", "\"");
    plain.replace("&apos;", "'").replace("&#39;", "'").replace("&#xA;", "\n").replace("&amp;", "&")
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

    proptest! {
        #[test]
        fn any_text_is_parsed_or_rejected(text in "(<|/|>|=|\"|a|&|\\PC){0,60}") {
            let _ = parse(&text);
        }
    }
}
