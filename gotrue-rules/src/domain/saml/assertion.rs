//! What an identity provider asserts of a person, as it stands in the XML. Values are taken letter by letter, white space
//! included; what this server has no use for is passed over.

use super::xml::Node;
use super::{ASSERTION, Refusal, instant};
use crate::domain::user::Time;

const IN: &str = "Assertion";

/// An assertion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Assertion {
    /// `ID`.
    pub id: String,
    /// `Issuer`.
    pub issuer: String,
    /// `IssueInstant`.
    pub issued: Option<Time>,
    /// The person's name there.
    pub name: Option<NameId>,
    /// How whoever brings it shows that it is about them; none if there is no `Subject`.
    pub confirmations: Option<Vec<Confirmation>>,
    /// When and for whom it holds.
    pub conditions: Option<Conditions>,
    /// When the session there ends, as the first statement that says so says.
    pub session_ends: Option<Time>,
    /// What else is said of the person, in its order.
    pub attributes: Vec<Attribute>,
}

/// A person's name at an identity provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NameId {
    /// `Format`; empty if none is said.
    pub format: String,
    /// The name.
    pub value: String,
}

/// How whoever brings an assertion shows that it is about them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confirmation {
    /// `Method`.
    pub method: String,
    /// What must be so; none if nothing is said.
    pub data: Option<ConfirmationData>,
}

/// What must be so for a confirmation to hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfirmationData {
    /// `InResponseTo`: the request that it answers.
    pub in_response_to: String,
    /// `Recipient`: where it may be brought.
    pub recipient: String,
    /// `NotBefore`.
    pub from: Option<Time>,
    /// `NotOnOrAfter`.
    pub until: Option<Time>,
}

/// When and for whom an assertion holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conditions {
    /// `NotBefore`.
    pub from: Option<Time>,
    /// `NotOnOrAfter`.
    pub until: Option<Time>,
    /// The audiences of each `AudienceRestriction`.
    pub audiences: Vec<Vec<String>>,
}

/// Something said of a person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attribute {
    /// `Name`.
    pub name: String,
    /// `FriendlyName`.
    pub friendly_name: String,
    /// Its values.
    pub values: Vec<String>,
}

impl Assertion {
    /// Reads an `Assertion`.
    pub fn read(node: Node<'_>) -> Result<Self, Refusal> {
        let subject = node.optional(ASSERTION, "Subject", IN)?;
        let name = match subject {
            Some(subject) => subject.optional(ASSERTION, "NameID", "Subject")?,
            None => None,
        };
        let confirmations = match subject {
            Some(subject) => {
                Some(subject.all(ASSERTION, "SubjectConfirmation").map(confirmation).collect::<Result<_, _>>()?)
            }
            None => None,
        };
        let statements = node.all(ASSERTION, "AttributeStatement");
        let mut ends = Vec::new();
        for statement in node.all(ASSERTION, "AuthnStatement") {
            ends.extend(instant::read(statement.attribute("SessionNotOnOrAfter"), "SessionNotOnOrAfter")?);
        }
        Ok(Self {
            id: text(node, "ID"),
            issuer: node.one(ASSERTION, "Issuer", IN)?.text().into_owned(),
            issued: instant::read(node.attribute("IssueInstant"), "IssueInstant")?,
            name: name.map(|name| NameId { format: text(name, "Format"), value: name.text().into_owned() }),
            confirmations,
            conditions: node.optional(ASSERTION, "Conditions", IN)?.map(conditions).transpose()?,
            session_ends: ends.first().copied(),
            attributes: statements.flat_map(|it| it.all(ASSERTION, "Attribute")).map(attribute).collect(),
        })
    }
}

fn text(node: Node<'_>, attribute: &str) -> String {
    node.attribute(attribute).unwrap_or_default().to_owned()
}

fn confirmation(node: Node<'_>) -> Result<Confirmation, Refusal> {
    let data = node.optional(ASSERTION, "SubjectConfirmationData", "SubjectConfirmation")?;
    let data = data.map(|data| {
        Ok::<_, Refusal>(ConfirmationData {
            in_response_to: text(data, "InResponseTo"),
            recipient: text(data, "Recipient"),
            from: instant::read(data.attribute("NotBefore"), "NotBefore")?,
            until: instant::read(data.attribute("NotOnOrAfter"), "NotOnOrAfter")?,
        })
    });
    Ok(Confirmation { method: text(node, "Method"), data: data.transpose()? })
}

fn conditions(node: Node<'_>) -> Result<Conditions, Refusal> {
    let audiences = |restriction: Node<'_>| {
        restriction.all(ASSERTION, "Audience").map(|audience| audience.text().into_owned()).collect()
    };
    Ok(Conditions {
        from: instant::read(node.attribute("NotBefore"), "NotBefore")?,
        until: instant::read(node.attribute("NotOnOrAfter"), "NotOnOrAfter")?,
        audiences: node.all(ASSERTION, "AudienceRestriction").map(audiences).collect(),
    })
}

fn attribute(node: Node<'_>) -> Attribute {
    Attribute {
        name: text(node, "Name"),
        friendly_name: text(node, "FriendlyName"),
        values: node.all(ASSERTION, "AttributeValue").map(|value| value.text().into_owned()).collect(),
    }
}
