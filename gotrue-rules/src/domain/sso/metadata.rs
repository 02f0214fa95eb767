//! What a SAML 2.0 identity provider says of itself: its name, where it takes requests, with which certificates it signs,
//! and for how long that holds. Read from a stranger's text, with all the precautions of [`xml`].

use chrono::TimeDelta;

use super::draft::Described;
use crate::domain::error::Error;
use crate::domain::saml::xml::{self, Node, Xml};
use crate::domain::saml::{DSIG, METADATA, instant};
use crate::domain::user::Time;

/// How a browser carries a request in the query of an address.
pub const REDIRECT: &str = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect";
/// Most bytes of a description, here or fetched: 1 MiB, as of any body.
pub const LARGEST: usize = 1 << 20;
/// How long a description is good that says nothing of it.
const USUAL_LIFE: TimeDelta = TimeDelta::hours(24);

/// An identity provider by its own description.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdentityProvider {
    /// `entityID`: its name among SAML services.
    pub entity_id: String,
    /// Where it takes requests in the query of an address ([`REDIRECT`]): http or https.
    pub sign_on: Option<String>,
    /// Certificates of its signatures: DER in base64, without white space, not looked at.
    pub certificates: Vec<String>,
    /// `validUntil`.
    pub valid_until: Option<Time>,
    /// `cacheDuration`.
    pub cache_duration: Option<TimeDelta>,
}

/// Why a text is not the description of one identity provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadMetadata {
    /// It is no XML, or none that is accepted.
    #[error(transparent)]
    Xml(#[from] xml::Malformed),
    /// It declares a document type.
    #[error("there is a document type declaration")]
    DocumentType,
    /// It is XML of something else.
    #[error("the outermost element is neither an EntityDescriptor nor an EntitiesDescriptor around one")]
    SomethingElse,
    /// It has no name.
    #[error("there is no entityID")]
    NoEntityId,
    /// It is no identity provider, or several.
    #[error("there are {0} IDPSSODescriptors")]
    Descriptors(usize),
    /// A time or a length of time that cannot be read.
    #[error("{0} cannot be read")]
    Unreadable(&'static str),
    /// It takes requests at an address that is none of the web.
    #[error("the Location of a SingleSignOnService is no http or https address")]
    Location,
}

impl From<BadMetadata> for Error {
    /// As recorded what is not SAML at all is a 500 that says nothing; the rest is 400 `validation_failed`.
    fn from(bad: BadMetadata) -> Self {
        let message = match &bad {
            BadMetadata::Xml(_) | BadMetadata::SomethingElse => return Self::other(bad),
            BadMetadata::NoEntityId => "SAML Metadata does not contain an EntityID".to_owned(),
            BadMetadata::Descriptors(0) => "SAML Metadata does not contain any IDPSSODescriptor".to_owned(),
            BadMetadata::Descriptors(_) => "SAML Metadata contains multiple IDPSSODescriptors".to_owned(),
            BadMetadata::DocumentType => "SAML Metadata must not contain a document type declaration".to_owned(),
            BadMetadata::Unreadable(name) => format!("SAML Metadata contains a {name} that cannot be read"),
            BadMetadata::Location => {
                "SAML Metadata contains a SingleSignOnService whose Location is no http or https URL".to_owned()
            }
        };
        Self::invalid(message).because(bad)
    }
}

impl IdentityProvider {
    /// Reads a description: of one entity, alone or the first identity provider of a list.
    pub fn read(text: &str) -> Result<Self, BadMetadata> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let document = Xml::parse(text).map_err(|malformed| doctype(text).unwrap_or(malformed.into()))?;
        let root = document.root();
        let entity = if root.is(METADATA, "EntitiesDescriptor") {
            let mut entities = root.all(METADATA, "EntityDescriptor");
            entities.find(|entity| descriptors(*entity).next().is_some()).ok_or(BadMetadata::SomethingElse)?
        } else {
            Some(root).filter(|root| root.is(METADATA, "EntityDescriptor")).ok_or(BadMetadata::SomethingElse)?
        };
        Self::of(entity)
    }

    fn of(entity: Node<'_>) -> Result<Self, BadMetadata> {
        let entity_id = entity.attribute("entityID").unwrap_or_default();
        if entity_id.is_empty() {
            return Err(BadMetadata::NoEntityId);
        }
        let mut found = descriptors(entity);
        let (Some(descriptor), rest) = (found.next(), found.count()) else { return Err(BadMetadata::Descriptors(0)) };
        if rest > 0 {
            return Err(BadMetadata::Descriptors(rest + 1));
        }
        let valid_until = instant::read(entity.attribute("validUntil"), "validUntil");
        let cache_duration = entity.attribute("cacheDuration").filter(|text| !text.is_empty()).map(duration);
        Ok(Self {
            entity_id: entity_id.to_owned(),
            sign_on: sign_on(descriptor)?,
            certificates: certificates(descriptor),
            valid_until: valid_until.map_err(|_| BadMetadata::Unreadable("validUntil"))?,
            cache_duration: cache_duration
                .map(|read| read.ok_or(BadMetadata::Unreadable("cacheDuration")))
                .transpose()?
                .filter(|duration| !duration.is_zero()),
        })
    }

    /// The description as it is stored.
    pub fn described(&self, xml: String) -> Described {
        Described { entity_id: self.entity_id.clone(), xml }
    }

    /// Whether a description stored at that time should be fetched anew: its time is over, it may be kept no longer, or
    /// it says neither and is a day old.
    pub fn is_stale(&self, stored_at: Time, now: Time) -> bool {
        let life = match (self.valid_until, self.cache_duration) {
            (None, None) => Some(USUAL_LIFE),
            (_, cached) => cached,
        };
        let kept_until = life.and_then(|life| stored_at.checked_add_signed(life));
        [self.valid_until, kept_until].into_iter().flatten().any(|end| now > end)
    }
}

/// What it is that the parser has refused, where it can be told better.
fn doctype(text: &str) -> Option<BadMetadata> {
    text.contains("<!DOCTYPE").then_some(BadMetadata::DocumentType)
}

fn descriptors(entity: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    entity.all(METADATA, "IDPSSODescriptor")
}

/// The first address for requests in a query. Every address that browsers are sent to must be one of the web.
fn sign_on(descriptor: Node<'_>) -> Result<Option<String>, BadMetadata> {
    let of_the_web = |location: &str| {
        url::Url::parse(location).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
    };
    let services = descriptor.all(METADATA, "SingleSignOnService");
    let mut locations = services
        .filter(|service| service.attribute("Binding") == Some(REDIRECT))
        .map(|service| service.attribute("Location").unwrap_or_default());
    match locations.next() {
        None => Ok(None),
        Some(location) if of_the_web(location) => Ok(Some(location.to_owned())),
        Some(_) => Err(BadMetadata::Location),
    }
}

/// Those for signatures, or for whatever they are good for.
fn certificates(descriptor: Node<'_>) -> Vec<String> {
    let keys = descriptor.all(METADATA, "KeyDescriptor");
    let signing = keys.filter(|key| matches!(key.attribute("use"), None | Some("" | "signing")));
    let data = signing.flat_map(|key| key.all(DSIG, "KeyInfo")).flat_map(|info| info.all(DSIG, "X509Data"));
    let texts = data.flat_map(|data| data.all(DSIG, "X509Certificate")).map(Node::text);
    texts.map(|text| text.split_whitespace().collect::<String>()).filter(|text| !text.is_empty()).collect()
}

/// A length of time as XML Schema writes it: `P1Y2M3DT4H5M6.5S`, perhaps with a `-` before it. As in the reference a
/// month has 30 days, a year 365.
fn duration(text: &str) -> Option<TimeDelta> {
    let (sign, rest) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let (date, time) = match rest.strip_prefix('P')?.split_once('T') {
        Some((date, time)) if !time.is_empty() => (date, time),
        Some(_) => return None,
        None => (rest.strip_prefix('P')?, ""),
    };
    if date.is_empty() && time.is_empty() {
        return None;
    }
    let day: i64 = 24 * 60 * 60 * 1000;
    let parts = [
        sum(date, &[('Y', 365 * day), ('M', 30 * day), ('D', day)])?,
        sum(time, &[('H', 60 * 60 * 1000), ('M', 60 * 1000), ('S', 1000)])?,
    ];
    let milliseconds = parts[0].checked_add(parts[1])?.checked_mul(sign)?;
    TimeDelta::try_milliseconds(milliseconds)
}

/// Numbers with units in milliseconds, each at most once and in this order; only seconds may have a fraction.
fn sum(mut text: &str, units: &[(char, i64)]) -> Option<i64> {
    let mut all = 0_i64;
    for (letter, unit) in units {
        let Some((number, rest)) = text.split_once(*letter) else { continue };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || (number.contains('.') && *letter != 'S') {
            return None;
        }
        let thousandths: i64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
        all = all.checked_add(whole.parse::<i64>().ok()?.checked_mul(*unit)?)?.checked_add(thousandths)?;
        text = rest;
    }
    text.is_empty().then_some(all)
}

#[cfg(test)]
mod tests;
