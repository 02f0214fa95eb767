//! Parses a SAML assertion. Values keep their white space; unused elements are skipped.

use foundation::time::Time;

use super::error::SamlError;
use super::instant;
use super::namespaces::ASSERTION;
use super::xml::XmlNode;

const ELEMENT: &str = "Assertion";

/// What an identity provider states about a user, as read from a verified document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Assertion {
    pub id: String,
    pub issuer: String,
    pub issue_instant: Option<Time>,
    /// The subject's `NameID`.
    pub name_id: Option<NameId>,
    /// The subject confirmations; `None` without a `Subject`.
    pub confirmations: Option<Vec<SubjectConfirmation>>,
    pub conditions: Option<Conditions>,
    /// The first `SessionNotOnOrAfter` of the authentication statements.
    pub session_not_on_or_after: Option<Time>,
    /// The attributes, in document order.
    pub attributes: Vec<SamlAttribute>,
}

/// The name of a subject at the identity provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NameId {
    /// `Format`; empty if absent.
    pub format: String,
    /// The name.
    pub value: String,
}

/// By which method, and under which constraints, the sender of an assertion may present it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubjectConfirmation {
    pub method: String,
    /// `SubjectConfirmationData`, if present.
    pub data: Option<SubjectConfirmationData>,
}

/// The constraints of a subject confirmation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubjectConfirmationData {
    /// `InResponseTo`: the id of the request.
    pub in_response_to: String,
    /// `Recipient`: the assertion consumer service URL.
    pub recipient: String,
    /// `NotBefore`.
    pub from: Option<Time>,
    /// `NotOnOrAfter`.
    pub until: Option<Time>,
}

/// The validity period and audiences of an assertion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conditions {
    /// `NotBefore`.
    pub from: Option<Time>,
    /// `NotOnOrAfter`.
    pub until: Option<Time>,
    /// The audiences of each `AudienceRestriction`.
    pub audience_restrictions: Vec<Vec<String>>,
}

/// An attribute of the subject.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SamlAttribute {
    pub name: String,
    pub friendly_name: String,
    pub values: Vec<String>,
}

impl Assertion {
    /// Parses an `Assertion` element.
    pub fn parse(node: XmlNode<'_>) -> Result<Self, SamlError> {
        let subject = node.optional_child(ASSERTION, "Subject", ELEMENT)?;
        let name = match subject {
            Some(subject) => subject.optional_child(ASSERTION, "NameID", "Subject")?,
            None => None,
        };
        let confirmations = match subject {
            Some(subject) => Some(
                subject
                    .children_named(ASSERTION, "SubjectConfirmation")
                    .map(parse_confirmation)
                    .collect::<Result<_, _>>()?,
            ),
            None => None,
        };
        let statements = node.children_named(ASSERTION, "AttributeStatement");
        let mut ends = Vec::new();
        for statement in node.children_named(ASSERTION, "AuthnStatement") {
            ends.extend(instant::parse(statement.attribute("SessionNotOnOrAfter"), "SessionNotOnOrAfter")?);
        }
        Ok(Self {
            id: attribute_text(node, "ID"),
            issuer: node.required_child(ASSERTION, "Issuer", ELEMENT)?.text().into_owned(),
            issue_instant: instant::parse(node.attribute("IssueInstant"), "IssueInstant")?,
            name_id: name
                .map(|name| NameId { format: attribute_text(name, "Format"), value: name.text().into_owned() }),
            confirmations,
            conditions: node.optional_child(ASSERTION, "Conditions", ELEMENT)?.map(parse_conditions).transpose()?,
            session_not_on_or_after: ends.first().copied(),
            attributes: statements
                .flat_map(|statement| statement.children_named(ASSERTION, "Attribute"))
                .map(parse_attribute)
                .collect(),
        })
    }
}

fn attribute_text(node: XmlNode<'_>, attribute: &str) -> String {
    node.attribute(attribute).unwrap_or_default().to_owned()
}

fn parse_confirmation(node: XmlNode<'_>) -> Result<SubjectConfirmation, SamlError> {
    let data = node.optional_child(ASSERTION, "SubjectConfirmationData", "SubjectConfirmation")?;
    let data = data.map(|data| {
        Ok::<_, SamlError>(SubjectConfirmationData {
            in_response_to: attribute_text(data, "InResponseTo"),
            recipient: attribute_text(data, "Recipient"),
            from: instant::parse(data.attribute("NotBefore"), "NotBefore")?,
            until: instant::parse(data.attribute("NotOnOrAfter"), "NotOnOrAfter")?,
        })
    });
    Ok(SubjectConfirmation { method: attribute_text(node, "Method"), data: data.transpose()? })
}

fn parse_conditions(node: XmlNode<'_>) -> Result<Conditions, SamlError> {
    let audiences = |restriction: XmlNode<'_>| {
        restriction.children_named(ASSERTION, "Audience").map(|audience| audience.text().into_owned()).collect()
    };
    Ok(Conditions {
        from: instant::parse(node.attribute("NotBefore"), "NotBefore")?,
        until: instant::parse(node.attribute("NotOnOrAfter"), "NotOnOrAfter")?,
        audience_restrictions: node.children_named(ASSERTION, "AudienceRestriction").map(audiences).collect(),
    })
}

fn parse_attribute(node: XmlNode<'_>) -> SamlAttribute {
    SamlAttribute {
        name: attribute_text(node, "Name"),
        friendly_name: attribute_text(node, "FriendlyName"),
        values: node.children_named(ASSERTION, "AttributeValue").map(|value| value.text().into_owned()).collect(),
    }
}
