//! XML as it is accepted from strangers: no document type (so no entity but the five), no deep nesting, one root. Elements
//! are found by namespace and name, below their parent and never anywhere in the document.

use std::borrow::Cow;

use bergshamra_c14n::{C14nMode, canonicalize_doc};
use bergshamra_xml::NodeSet;
use uppsala::parser::Parser;
use uppsala::{Document, NodeId, NodeKind};

use super::Refusal;

/// How deep elements may lie in each other; a response with an encrypted assertion needs a dozen.
const DEEPEST: usize = 64;

/// Attributes of one element, declarations of namespaces counted: readers compare each with each.
const MOST_ATTRIBUTES: usize = 32;
/// Namespaces declared by an element and those around it.
pub(super) const MOST_NAMESPACES: usize = 32;
/// Elements of a document; a response with a thousand groups has two thousand.
const MOST_ELEMENTS: usize = 20_000;

/// A text that is no XML, or none that is accepted here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot be read as XML: {0}")]
pub struct Malformed(String);

/// A document that could be read.
#[derive(Debug)]
pub struct Xml<'a>(Document<'a>);

impl<'a> Xml<'a> {
    /// Reads a document.
    pub fn parse(text: &'a str) -> Result<Self, Malformed> {
        check_effort(text)?;
        let parser = Parser::new().with_forbid_dtd(true);
        let document = parser.parse(text).map_err(|error| Malformed(error.to_string()))?;
        let other_encoding = document.xml_declaration.as_ref().and_then(|it| it.encoding.as_deref());
        if let Some(encoding) = other_encoding.filter(|encoding| !encoding.eq_ignore_ascii_case("utf-8")) {
            return Err(Malformed(format!("declares the encoding {encoding}; only UTF-8 is read")));
        }
        if document.document_element().is_none() {
            return Err(Malformed("there is no element".to_owned()));
        }
        Ok(Self(document))
    }

    /// The outermost element.
    pub fn root(&self) -> Node<'_> {
        Node { document: &self.0, id: self.0.document_element().unwrap_or_else(|| self.0.root()) }
    }

    /// How many elements carry this id, in any of the attributes that name ids.
    pub fn holders_of(&self, id: &str) -> usize {
        holders(&self.0, id)
    }
}

/// Refuses what takes a reader longer than its length: it compares each attribute of an element with each, and copies all
/// prefixes in scope for every element. What is no XML is left to the parser.
fn check_effort(text: &str) -> Result<(), Malformed> {
    let mut rest = text;
    let mut open = Open::default();
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        let skipped =
            [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")].into_iter().find(|it| rest.starts_with(it.0));
        let end = match skipped {
            Some((start, end)) => rest[start.len()..].find(end).map(|at| start.len() + at + end.len()),
            None => open.end_of_tag(rest)?,
        };
        let Some(end) = end else { return Ok(()) };
        rest = &rest[end..];
    }
    Ok(())
}

/// What has been opened so far.
#[derive(Default)]
struct Open {
    /// How many namespaces each open element declares.
    declared: Vec<usize>,
    elements: usize,
}

impl Open {
    /// Where a tag ends; none if it does not.
    fn end_of_tag(&mut self, tag: &str) -> Result<Option<usize>, Malformed> {
        let (mut quote, mut attributes, mut namespaces) = (None, 0, 0);
        for (at, byte) in tag.bytes().enumerate() {
            match (quote, byte) {
                (Some(open), byte) if open == byte => quote = None,
                (None, b'"' | b'\'') => quote = Some(byte),
                // A tag that never ends is counted too.
                (None, b'=') if attributes == MOST_ATTRIBUTES => {
                    return Err(too_many(MOST_ATTRIBUTES, "attributes of an element"));
                }
                (None, b'=') => attributes += 1,
                (None, b'x') if tag[at..].starts_with("xmlns") => namespaces += 1,
                (None, b'>') => {
                    self.take(&tag[..at], namespaces)?;
                    return Ok(Some(at + 1));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    fn take(&mut self, tag: &str, namespaces: usize) -> Result<(), Malformed> {
        if tag.starts_with("</") {
            self.declared.pop();
            return Ok(());
        }
        self.elements += 1;
        let in_scope = namespaces + self.declared.iter().sum::<usize>();
        let limits = [
            (in_scope, MOST_NAMESPACES, "namespaces in scope"),
            (self.declared.len() + 1, DEEPEST, "elements in each other"),
            (self.elements, MOST_ELEMENTS, "elements"),
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

fn too_many(most: usize, what: &str) -> Malformed {
    Malformed(format!("there are more than {most} {what}"))
}

/// An element of a document.
#[derive(Debug, Clone, Copy)]
pub struct Node<'d> {
    document: &'d Document<'d>,
    id: NodeId,
}

impl<'d> Node<'d> {
    /// Whether it is this element.
    pub fn is(self, namespace: &str, name: &str) -> bool {
        self.document.element(self.id).is_some_and(|element| element.matches_name_ns(namespace, name))
    }

    /// Whether it is the outermost element.
    pub fn is_root(self) -> bool {
        self.document.document_element() == Some(self.id)
    }

    /// The elements directly in it.
    pub fn children(self) -> impl Iterator<Item = Node<'d>> {
        let Self { document, id } = self;
        document
            .children_iter(id)
            .filter(move |child| document.element(*child).is_some())
            .map(move |id| Node { document, id })
    }

    /// The elements of that name directly in it.
    pub fn all(self, namespace: &'d str, name: &'d str) -> impl Iterator<Item = Node<'d>> {
        self.children().filter(move |child| child.is(namespace, name))
    }

    /// The one element of that name directly in it; `parent` is what it is called in a refusal.
    pub fn one(self, namespace: &str, name: &'static str, parent: &'static str) -> Result<Node<'d>, Refusal> {
        self.optional(namespace, name, parent)?.ok_or(Refusal::Times { name, parent, times: 0 })
    }

    /// The element of that name directly in it, if there is one; refused if there are more.
    pub fn optional(
        self,
        namespace: &str,
        name: &'static str,
        parent: &'static str,
    ) -> Result<Option<Node<'d>>, Refusal> {
        let mut found = self.children().filter(|child| child.is(namespace, name));
        let first = found.next();
        match found.count() {
            0 => Ok(first),
            more => Err(Refusal::Times { name, parent, times: more + 1 }),
        }
    }

    /// An attribute without a namespace.
    pub fn attribute(self, name: &str) -> Option<&'d str> {
        let element = self.document.element(self.id)?;
        let mut of_none = element.attributes.iter().filter(|it| it.name.namespace_uri.is_none());
        of_none.find(|it| it.name.local_name == name).map(|it| it.value.as_ref())
    }

    /// The text directly in it, as if comments in it were not there.
    pub fn text(self) -> Cow<'d, str> {
        let mut text = Cow::Borrowed("");
        for child in self.document.children_iter(self.id) {
            if let Some(NodeKind::Text(part) | NodeKind::CData(part)) = self.document.node_kind(child) {
                text += part.as_ref();
            }
        }
        text
    }

    /// How many elements of the document carry this id.
    pub fn holders_of(self, id: &str) -> usize {
        holders(self.document, id)
    }

    /// Its canonical form: with comments if `mode` says so, else without.
    pub fn canonical(self, mode: C14nMode, prefixes: &[&str]) -> Result<Vec<u8>, Malformed> {
        let nodes = if mode.with_comments() {
            NodeSet::tree_with_comments(self.id, self.document)
        } else {
            NodeSet::tree_without_comments(self.id, self.document)
        };
        self.canonical_of(mode, prefixes, &nodes)
    }

    /// Its canonical form without comments, and without `left_out` and all that is in it.
    pub fn canonical_without(
        self,
        left_out: Node<'d>,
        mode: C14nMode,
        prefixes: &[&str],
    ) -> Result<Vec<u8>, Malformed> {
        let mut nodes = NodeSet::tree_without_comments(self.id, self.document);
        nodes.remove_id(left_out.id);
        for node in self.document.descendants(left_out.id) {
            nodes.remove_id(node);
        }
        self.canonical_of(mode, prefixes, &nodes)
    }

    fn canonical_of(self, mode: C14nMode, prefixes: &[&str], nodes: &NodeSet) -> Result<Vec<u8>, Malformed> {
        canonicalize_doc(self.document, mode, Some(nodes), prefixes).map_err(|error| Malformed(error.to_string()))
    }
}

/// Attributes that some reader takes for an id.
const IDS: [&str; 4] = ["ID", "Id", "id", "AssertionID"];

fn holders(document: &Document<'_>, id: &str) -> usize {
    let elements = document.descendants(document.root()).into_iter().filter_map(|node| document.element(node));
    elements
        .filter(|element| {
            element.attributes.iter().any(|it| IDS.contains(&it.name.local_name.as_ref()) && it.value == id)
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_documents_are_read() {
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
            assert_eq!(Xml::parse(text).is_ok(), accepted, "{text}");
        }
    }

    #[test]
    fn what_lies_too_deep_is_not_read() {
        for (depth, accepted) in [(60, true), (65, false), (100_000, false)] {
            assert_eq!(Xml::parse(&format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth))).is_ok(), accepted);
        }
    }

    #[test]
    fn what_takes_too_long_is_not_read() {
        let with = |many: usize, first: &str| {
            let attributes = (0..many).map(|it| format!(" a{it} = '=>'")).collect::<Vec<_>>().concat();
            format!("{first}<a><!-- = --><b{attributes}><![CDATA[<c =]]></b></a>")
        };
        for (many, accepted) in [(32, true), (33, false), (5000, false)] {
            assert_eq!(Xml::parse(&with(many, "<?xml version=\"1.0\"?>")).is_ok(), accepted, "{many}");
        }
        let endless = with(100, "").replace(['>', '/'], "") + " x='";
        assert!(Xml::parse(&endless).unwrap_err().to_string().contains("32 attributes"), "although the tag never ends");
        let inside = format!("<a>{}</a>", "= ".repeat(100));
        assert!(Xml::parse(&inside).is_ok());
        let declared = (0..31).map(|it| format!(" xmlns:n{it}='u'")).collect::<Vec<_>>().concat();
        let within = |depth: usize| format!("{}<b/>{}", format!("<a{declared}>").repeat(depth), "</a>".repeat(depth));
        for (text, accepted) in [
            (within(1), true),
            (within(2), false),
            (format!("<a>{}</a>", within(1).repeat(50)), true),
            (format!("<a>{}</a>", format!("<b{declared}/>").repeat(50)), true),
            (format!("<a>{}</a>", "<b/>".repeat(19_999)), true),
            (format!("<a>{}</a>", "<b/>".repeat(20_000)), false),
        ] {
            assert_eq!(Xml::parse(&text).is_ok(), accepted);
        }
    }

    #[test]
    fn elements_are_found_below_their_parent_by_namespace() {
        let xml = Xml::parse("<a xmlns='n' xmlns:m='m'><b/><m:b/><c><b/></c><m:d x='1' m:x='2'/></a>").unwrap();
        let root = xml.root();
        assert_eq!(root.all("n", "b").count(), 1);
        assert!(root.optional("n", "d", "a").unwrap().is_none());
        assert_eq!(root.one("m", "d", "a").unwrap().attribute("x"), Some("1"));
        let twice = Xml::parse("<a xmlns='n'><b/><b/></a>").unwrap();
        assert_eq!(twice.root().one("n", "b", "a").unwrap_err(), Refusal::Times { name: "b", parent: "a", times: 2 });
    }

    #[test]
    fn a_comment_does_not_end_a_text() {
        let xml = Xml::parse("<a>ann<!-- -->@example<![CDATA[.com]]><b>no</b>.evil</a>").unwrap();
        assert_eq!(xml.root().text(), "ann@example.com.evil");
    }

    #[test]
    fn canonical_forms_are_those_of_the_specification() {
        let xml = Xml::parse(
            "<a xmlns='n' xmlns:u='u' xmlns:v='v'><b z='1' u:y='&#x9;'  a='2'><!--c--><s>no</s><c/>t &gt;</b></a>",
        )
        .unwrap();
        let b = xml.root().children().next().unwrap();
        let s = b.children().next().unwrap();
        let as_text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let exclusive = "<b xmlns=\"n\" xmlns:u=\"u\" a=\"2\" z=\"1\" u:y=\"&#x9;\"><c></c>t &gt;</b>";
        assert_eq!(as_text(b.canonical_without(s, C14nMode::Exclusive, &[]).unwrap()), exclusive);
        let listed = "<b xmlns=\"n\" xmlns:u=\"u\" xmlns:v=\"v\" a=\"2\" z=\"1\" u:y=\"&#x9;\"><c></c>t &gt;</b>";
        assert_eq!(as_text(b.canonical_without(s, C14nMode::Exclusive, &["v"]).unwrap()), listed);
        assert_eq!(as_text(b.canonical_without(s, C14nMode::Inclusive, &[]).unwrap()), listed);
        let with_comment = "<s xmlns=\"n\">no</s>";
        assert_eq!(as_text(s.canonical(C14nMode::ExclusiveWithComments, &[]).unwrap()), with_comment);
    }

    #[test]
    fn ids_are_counted_wherever_they_are() {
        let xml = Xml::parse("<a ID='x'><b Id='x'/><c id='y' n:ID='x' xmlns:n='n'/></a>").unwrap();
        assert_eq!((xml.holders_of("x"), xml.holders_of("y"), xml.root().holders_of("z")), (3, 1, 0));
    }
}
