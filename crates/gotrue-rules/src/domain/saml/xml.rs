//! Parses untrusted XML: no document type (so only the predefined entities), limited nesting, one root.
//! Elements are looked up by namespace and name among the children of a given element, never in the whole document.

use std::borrow::Cow;

use bergshamra_c14n::{C14nMode, canonicalize_doc};
use bergshamra_xml::NodeSet;
use uppsala::parser::Parser;
use uppsala::{Document, NodeId, NodeKind};

use super::error::{SamlError, XmlError};
use super::namespaces::MOST_NAMESPACES;

/// The maximum nesting depth; a response with an encrypted assertion needs about a dozen.
const MAX_DEPTH: usize = 64;

/// The maximum number of attributes of an element, including namespace declarations.
/// The parser compares each attribute with each other one.
const MAX_ATTRIBUTES: usize = 32;
/// The maximum number of elements; a response with a thousand groups has two thousand.
const MAX_ELEMENTS: usize = 20_000;

/// A parsed document.
#[derive(Debug)]
pub struct XmlDocument<'a>(Document<'a>);

impl<'a> XmlDocument<'a> {
    /// Parses a document.
    pub fn parse(text: &'a str) -> Result<Self, XmlError> {
        check_limits(text)?;
        let parser = Parser::new().with_forbid_dtd(true);
        let document = parser.parse(text).map_err(|error| XmlError::Malformed(error.to_string()))?;
        let other_encoding = document.xml_declaration.as_ref().and_then(|declaration| declaration.encoding.as_deref());
        if let Some(encoding) = other_encoding.filter(|encoding| !encoding.eq_ignore_ascii_case("utf-8")) {
            return Err(XmlError::Malformed(format!("the declared encoding is {encoding}, expected UTF-8")));
        }
        if document.document_element().is_none() {
            return Err(XmlError::Malformed("the document has no element".to_owned()));
        }
        Ok(Self(document))
    }

    /// The root element.
    pub fn root(&self) -> XmlNode<'_> {
        XmlNode { document: &self.0, id: self.0.document_element().unwrap_or_else(|| self.0.root()) }
    }

    /// The number of elements with this id, in any of the id attributes.
    pub fn count_id(&self, id: &str) -> usize {
        count_elements_with_id(&self.0, id)
    }
}

/// Rejects documents whose parsing takes more than linear time.
/// The parser compares the attributes of an element pairwise and copies all prefixes in scope for every element.
/// Malformed XML is left to the parser.
fn check_limits(text: &str) -> Result<(), XmlError> {
    let mut rest = text;
    let mut open = OpenElements::default();
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        let skipped =
            [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")].into_iter().find(|markup| rest.starts_with(markup.0));
        let end = match skipped {
            Some((start, end)) => rest[start.len()..].find(end).map(|at| start.len() + at + end.len()),
            None => open.find_tag_end(rest)?,
        };
        let Some(end) = end else { return Ok(()) };
        rest = &rest[end..];
    }
    Ok(())
}

/// The open elements and the number of elements so far.
#[derive(Default)]
struct OpenElements {
    /// The number of namespaces that each open element declares.
    declared: Vec<usize>,
    elements: usize,
}

impl OpenElements {
    /// The end of a tag; `None` if it does not end.
    fn find_tag_end(&mut self, tag: &str) -> Result<Option<usize>, XmlError> {
        let (mut quote, mut attributes, mut namespaces) = (None, 0, 0);
        for (at, byte) in tag.bytes().enumerate() {
            match (quote, byte) {
                (Some(open), byte) if open == byte => quote = None,
                (None, b'"' | b'\'') => quote = Some(byte),
                // The attributes of an unterminated tag count too.
                (None, b'=') if attributes == MAX_ATTRIBUTES => {
                    return Err(too_many(MAX_ATTRIBUTES, "attributes of an element"));
                }
                (None, b'=') => attributes += 1,
                (None, b'x') if tag[at..].starts_with("xmlns") => namespaces += 1,
                (None, b'>') => {
                    self.count_tag(&tag[..at], namespaces)?;
                    return Ok(Some(at + 1));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    fn count_tag(&mut self, tag: &str, namespaces: usize) -> Result<(), XmlError> {
        if tag.starts_with("</") {
            self.declared.pop();
            return Ok(());
        }
        if self.declared.is_empty() && self.elements > 0 {
            return Err(XmlError::SeveralRoots);
        }
        self.elements += 1;
        let in_scope = namespaces + self.declared.iter().sum::<usize>();
        let limits = [
            (in_scope, MOST_NAMESPACES, "namespaces in scope"),
            (self.declared.len() + 1, MAX_DEPTH, "elements in each other"),
            (self.elements, MAX_ELEMENTS, "elements"),
        ];
        if let Some((_, most, what)) = limits.into_iter().find(|(count, most, _)| count > most) {
            return Err(too_many(most, what));
        }
        if !tag.ends_with('/') {
            self.declared.push(namespaces);
        }
        Ok(())
    }
}

fn too_many(most: usize, what: &str) -> XmlError {
    XmlError::Malformed(format!("there are more than {most} {what}"))
}

/// An element of a document.
#[derive(Debug, Clone, Copy)]
pub struct XmlNode<'d> {
    document: &'d Document<'d>,
    id: NodeId,
}

impl<'d> XmlNode<'d> {
    /// Whether the element has this namespace and name.
    pub fn has_name(self, namespace: &str, name: &str) -> bool {
        self.document.element(self.id).is_some_and(|element| element.matches_name_ns(namespace, name))
    }

    /// Whether this is the root element.
    pub fn is_root(self) -> bool {
        self.document.document_element() == Some(self.id)
    }

    /// The child elements.
    pub fn children(self) -> impl Iterator<Item = XmlNode<'d>> {
        let Self { document, id } = self;
        document
            .children_iter(id)
            .filter(move |child| document.element(*child).is_some())
            .map(move |id| XmlNode { document, id })
    }

    /// The child elements of that name.
    pub fn children_named(self, namespace: &'d str, name: &'d str) -> impl Iterator<Item = XmlNode<'d>> {
        self.children().filter(move |child| child.has_name(namespace, name))
    }

    /// The only child element of that name; `parent` is the name of this element in the error.
    pub fn required_child(
        self,
        namespace: &str,
        name: &'static str,
        parent: &'static str,
    ) -> Result<XmlNode<'d>, SamlError> {
        self.optional_child(namespace, name, parent)?.ok_or(SamlError::ElementCount { name, parent, times: 0 })
    }

    /// The optional child element of that name; several are an error.
    pub fn optional_child(
        self,
        namespace: &str,
        name: &'static str,
        parent: &'static str,
    ) -> Result<Option<XmlNode<'d>>, SamlError> {
        let mut found = self.children().filter(|child| child.has_name(namespace, name));
        let first = found.next();
        match found.count() {
            0 => Ok(first),
            more => Err(SamlError::ElementCount { name, parent, times: more + 1 }),
        }
    }

    /// The value of an attribute without a namespace.
    pub fn attribute(self, name: &str) -> Option<&'d str> {
        let element = self.document.element(self.id)?;
        let mut of_none = element.attributes.iter().filter(|attribute| attribute.name.namespace_uri.is_none());
        of_none.find(|attribute| attribute.name.local_name == name).map(|attribute| attribute.value.as_ref())
    }

    /// The text of the element itself; comments do not interrupt it.
    pub fn text(self) -> Cow<'d, str> {
        let mut text = Cow::Borrowed("");
        for child in self.document.children_iter(self.id) {
            if let Some(NodeKind::Text(part) | NodeKind::CData(part)) = self.document.node_kind(child) {
                text += part.as_ref();
            }
        }
        text
    }

    /// The number of elements of the document with this id.
    pub fn count_id(self, id: &str) -> usize {
        count_elements_with_id(self.document, id)
    }

    /// The canonical form, with comments if `mode` includes them.
    pub fn canonicalize(self, mode: C14nMode, prefixes: &[&str]) -> Result<Vec<u8>, XmlError> {
        let nodes = if mode.with_comments() {
            NodeSet::tree_with_comments(self.id, self.document)
        } else {
            NodeSet::tree_without_comments(self.id, self.document)
        };
        self.canonicalize_nodes(mode, prefixes, &nodes)
    }

    /// The canonical form without comments and without the subtree `left_out`.
    pub fn canonicalize_without(
        self,
        left_out: XmlNode<'d>,
        mode: C14nMode,
        prefixes: &[&str],
    ) -> Result<Vec<u8>, XmlError> {
        let mut nodes = NodeSet::tree_without_comments(self.id, self.document);
        nodes.remove_id(left_out.id);
        for node in self.document.descendants(left_out.id) {
            nodes.remove_id(node);
        }
        self.canonicalize_nodes(mode, prefixes, &nodes)
    }

    fn canonicalize_nodes(self, mode: C14nMode, prefixes: &[&str], nodes: &NodeSet) -> Result<Vec<u8>, XmlError> {
        canonicalize_doc(self.document, mode, Some(nodes), prefixes)
            .map_err(|error| XmlError::Malformed(error.to_string()))
    }
}

/// Attribute names that some implementations treat as ids.
const ID_ATTRIBUTES: [&str; 4] = ["ID", "Id", "id", "AssertionID"];

fn count_elements_with_id(document: &Document<'_>, id: &str) -> usize {
    let elements = document.descendants(document.root()).into_iter().filter_map(|node| document.element(node));
    elements
        .filter(|element| {
            element
                .attributes
                .iter()
                .any(|attribute| ID_ATTRIBUTES.contains(&attribute.name.local_name.as_ref()) && attribute.value == id)
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_with_dtd_or_errors_are_rejected() {
        for (text, accepted) in [
            ("<a/>", true),
            ("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<a/>\n", true),
            ("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a/>", false),
            ("<!DOCTYPE a><a/>", false),
            ("<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>", false),
            ("<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>", false),
            ("<a>&x;</a>", false),
            ("<a/><b/>", false),
            ("<a/>b", false),
            ("<a><b></a></b>", false),
            ("<a b=\"1\" b=\"2\"/>", false),
            ("<x:a/>", false),
            ("hello", false),
            ("", false),
        ] {
            assert_eq!(XmlDocument::parse(text).is_ok(), accepted, "{text}");
        }
    }

    #[test]
    fn deep_nesting_is_rejected() {
        for (depth, accepted) in [(60, true), (65, false), (100_000, false)] {
            assert_eq!(
                XmlDocument::parse(&format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth))).is_ok(),
                accepted
            );
        }
    }

    #[test]
    fn documents_over_limits_are_rejected() {
        let with = |many: usize, first: &str| {
            let attributes = (0..many).map(|number| format!(" a{number} = '=>'")).collect::<Vec<_>>().concat();
            format!("{first}<a><!-- = --><b{attributes}><![CDATA[<c =]]></b></a>")
        };
        for (many, accepted) in [(32, true), (33, false), (5000, false)] {
            assert_eq!(XmlDocument::parse(&with(many, "<?xml version=\"1.0\"?>")).is_ok(), accepted, "{many}");
        }
        let endless = with(100, "").replace(['>', '/'], "") + " x='";
        assert!(
            XmlDocument::parse(&endless).unwrap_err().to_string().contains("32 attributes"),
            "although the tag never ends"
        );
        let inside = format!("<a>{}</a>", "= ".repeat(100));
        assert!(XmlDocument::parse(&inside).is_ok());
        let declared = (0..31).map(|number| format!(" xmlns:n{number}='u'")).collect::<Vec<_>>().concat();
        let within = |depth: usize| format!("{}<b/>{}", format!("<a{declared}>").repeat(depth), "</a>".repeat(depth));
        for (text, accepted) in [
            (within(1), true),
            (within(2), false),
            (format!("<a>{}</a>", within(1).repeat(50)), true),
            (format!("<a>{}</a>", format!("<b{declared}/>").repeat(50)), true),
            (format!("<a>{}</a>", "<b/>".repeat(19_999)), true),
            (format!("<a>{}</a>", "<b/>".repeat(20_000)), false),
        ] {
            assert_eq!(XmlDocument::parse(&text).is_ok(), accepted);
        }
    }

    #[test]
    fn children_are_found_by_namespace_and_name() {
        let xml = XmlDocument::parse("<a xmlns='n' xmlns:m='m'><b/><m:b/><c><b/></c><m:d x='1' m:x='2'/></a>").unwrap();
        let root = xml.root();
        assert_eq!(root.children_named("n", "b").count(), 1);
        assert!(root.optional_child("n", "d", "a").unwrap().is_none());
        assert_eq!(root.required_child("m", "d", "a").unwrap().attribute("x"), Some("1"));
        let twice = XmlDocument::parse("<a xmlns='n'><b/><b/></a>").unwrap();
        assert_eq!(
            twice.root().required_child("n", "b", "a").unwrap_err(),
            SamlError::ElementCount { name: "b", parent: "a", times: 2 }
        );
    }

    #[test]
    fn comment_does_not_split_text() {
        let xml = XmlDocument::parse("<a>ann<!-- -->@example<![CDATA[.com]]><b>no</b>.evil</a>").unwrap();
        assert_eq!(xml.root().text(), "ann@example.com.evil");
    }

    #[test]
    fn canonical_forms_match_specification() {
        let xml = XmlDocument::parse(
            "<a xmlns='n' xmlns:u='u' xmlns:v='v'><b z='1' u:y='&#x9;'  a='2'><!--c--><s>no</s><c/>t &gt;</b></a>",
        )
        .unwrap();
        let b = xml.root().children().next().unwrap();
        let s = b.children().next().unwrap();
        let as_text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let exclusive = "<b xmlns=\"n\" xmlns:u=\"u\" a=\"2\" z=\"1\" u:y=\"&#x9;\"><c></c>t &gt;</b>";
        assert_eq!(as_text(b.canonicalize_without(s, C14nMode::Exclusive, &[]).unwrap()), exclusive);
        let listed = "<b xmlns=\"n\" xmlns:u=\"u\" xmlns:v=\"v\" a=\"2\" z=\"1\" u:y=\"&#x9;\"><c></c>t &gt;</b>";
        assert_eq!(as_text(b.canonicalize_without(s, C14nMode::Exclusive, &["v"]).unwrap()), listed);
        assert_eq!(as_text(b.canonicalize_without(s, C14nMode::Inclusive, &[]).unwrap()), listed);
        let with_comment = "<s xmlns=\"n\">no</s>";
        assert_eq!(as_text(s.canonicalize(C14nMode::ExclusiveWithComments, &[]).unwrap()), with_comment);
    }

    #[test]
    fn ids_are_counted_in_whole_document() {
        let xml = XmlDocument::parse("<a ID='x'><b Id='x'/><c id='y' n:ID='x' xmlns:n='n'/></a>").unwrap();
        assert_eq!((xml.count_id("x"), xml.count_id("y"), xml.root().count_id("z")), (3, 1, 0));
    }
}
