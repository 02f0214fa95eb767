//! Parses SAML 2.0 metadata of an identity provider: entity id, endpoint, certificates and validity.
//! The XML is untrusted; see [`xml`](crate::domain::saml::xml) for the limits.

use chrono::TimeDelta;
use foundation::error::Error;
use foundation::time::Time;

use super::creation::EntityMetadata;
use crate::domain::saml::xml::{XmlDocument, XmlNode};
use crate::domain::saml::{DSIG, METADATA, XmlError, instant};

/// The binding that sends a request in the query of a URL.
pub const HTTP_REDIRECT_BINDING: &str = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect";
/// The maximum size of metadata in bytes, sent or fetched: 1 MiB, as of any body.
pub const MAX_METADATA_BYTES: usize = 1 << 20;
/// The lifetime of metadata without `validUntil` and `cacheDuration`.
const DEFAULT_LIFETIME: TimeDelta = TimeDelta::hours(24);

/// An identity provider as described by its metadata.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdentityProvider {
    pub entity_id: String,
    /// The HTTP or HTTPS URL of the single sign-on service with the binding [`HTTP_REDIRECT_BINDING`].
    pub sign_on_url: Option<String>,
    /// The signing certificates: base64 DER without white space, not parsed.
    pub certificates: Vec<String>,
    pub valid_until: Option<Time>,
    pub cache_duration: Option<TimeDelta>,
}

/// Why metadata is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// The XML is malformed or not accepted.
    #[error(transparent)]
    Xml(#[from] XmlError),
    /// The document has a document type declaration.
    #[error("the document has a document type declaration")]
    DocumentType,
    /// The root is not SAML metadata.
    #[error("the root is neither an EntityDescriptor nor an EntitiesDescriptor with an identity provider")]
    NotMetadata,
    /// `entityID` is missing.
    #[error("entityID is missing")]
    NoEntityId,
    /// There is no `IDPSSODescriptor`, or several.
    #[error("there are {0} IDPSSODescriptors")]
    DescriptorCount(usize),
    /// A time or duration cannot be parsed.
    #[error("{0} cannot be read")]
    Unreadable(&'static str),
    /// The location of the single sign-on service is not an HTTP or HTTPS URL.
    #[error("the Location of a SingleSignOnService is not an http or https URL")]
    Location,
}

impl From<MetadataError> for Error {
    /// A document that is not SAML is a generic 500, as in the reference.
    /// Other errors are 400 `validation_failed`.
    fn from(bad: MetadataError) -> Self {
        let message = match &bad {
            MetadataError::Xml(XmlError::SeveralRoots) => {
                "SAML Metadata contains more than one root element".to_owned()
            }
            MetadataError::Xml(_) | MetadataError::NotMetadata => return Self::other(bad),
            MetadataError::NoEntityId => "SAML Metadata does not contain an EntityID".to_owned(),
            MetadataError::DescriptorCount(0) => "SAML Metadata does not contain any IDPSSODescriptor".to_owned(),
            MetadataError::DescriptorCount(_) => "SAML Metadata contains multiple IDPSSODescriptors".to_owned(),
            MetadataError::DocumentType => "SAML Metadata must not contain a document type declaration".to_owned(),
            MetadataError::Unreadable(name) => format!("SAML Metadata contains a {name} that cannot be read"),
            MetadataError::Location => {
                "SAML Metadata contains a SingleSignOnService whose Location is no http or https URL".to_owned()
            }
        };
        Self::invalid(message).with_cause(bad)
    }
}

impl IdentityProvider {
    /// Parses an `EntityDescriptor`, or the first identity provider of an `EntitiesDescriptor`.
    pub fn parse(text: &str) -> Result<Self, MetadataError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let document = XmlDocument::parse(text).map_err(|malformed| doctype_error(text).unwrap_or(malformed.into()))?;
        let root = document.root();
        let entity = if root.has_name(METADATA, "EntitiesDescriptor") {
            let mut entities = root.children_named(METADATA, "EntityDescriptor");
            entities.find(|entity| descriptors(*entity).next().is_some()).ok_or(MetadataError::NotMetadata)?
        } else {
            Some(root).filter(|root| root.has_name(METADATA, "EntityDescriptor")).ok_or(MetadataError::NotMetadata)?
        };
        Self::from_entity(entity)
    }

    fn from_entity(entity: XmlNode<'_>) -> Result<Self, MetadataError> {
        let entity_id = entity.attribute("entityID").unwrap_or_default();
        if entity_id.is_empty() {
            return Err(MetadataError::NoEntityId);
        }
        let mut found = descriptors(entity);
        let (Some(descriptor), rest) = (found.next(), found.count()) else {
            return Err(MetadataError::DescriptorCount(0));
        };
        if rest > 0 {
            return Err(MetadataError::DescriptorCount(rest + 1));
        }
        let valid_until = instant::parse(entity.attribute("validUntil"), "validUntil");
        let cache_duration = entity.attribute("cacheDuration").filter(|text| !text.is_empty()).map(parse_duration);
        Ok(Self {
            entity_id: entity_id.to_owned(),
            sign_on_url: find_sign_on_url(descriptor)?,
            certificates: signing_certificates(descriptor),
            valid_until: valid_until.map_err(|_| MetadataError::Unreadable("validUntil"))?,
            cache_duration: cache_duration
                .map(|read| read.ok_or(MetadataError::Unreadable("cacheDuration")))
                .transpose()?
                .filter(|duration| !duration.is_zero()),
        })
    }

    /// The part of the metadata that is stored.
    pub fn to_entity_metadata(&self, xml: String) -> EntityMetadata {
        EntityMetadata { entity_id: self.entity_id.clone(), xml }
    }

    /// Whether metadata stored at that time should be fetched again.
    /// It is stale after `validUntil`, after `cacheDuration`, or after a day if it has neither.
    pub fn is_stale(&self, stored_at: Time, now: Time) -> bool {
        let life = match (self.valid_until, self.cache_duration) {
            (None, None) => Some(DEFAULT_LIFETIME),
            (_, cached) => cached,
        };
        let kept_until = life.and_then(|life| stored_at.checked_add_signed(life));
        [self.valid_until, kept_until].into_iter().flatten().any(|end| now > end)
    }
}

/// The specific error for a document type, which the parser rejects.
fn doctype_error(text: &str) -> Option<MetadataError> {
    text.contains("<!DOCTYPE").then_some(MetadataError::DocumentType)
}

fn descriptors(entity: XmlNode<'_>) -> impl Iterator<Item = XmlNode<'_>> {
    entity.children_named(METADATA, "IDPSSODescriptor")
}

/// The first location with the HTTP-Redirect binding, which must be an HTTP or HTTPS URL.
fn find_sign_on_url(descriptor: XmlNode<'_>) -> Result<Option<String>, MetadataError> {
    let is_web_url = |location: &str| {
        url::Url::parse(location).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
    };
    let services = descriptor.children_named(METADATA, "SingleSignOnService");
    let mut locations = services
        .filter(|service| service.attribute("Binding") == Some(HTTP_REDIRECT_BINDING))
        .map(|service| service.attribute("Location").unwrap_or_default());
    match locations.next() {
        None => Ok(None),
        Some(location) if is_web_url(location) => Ok(Some(location.to_owned())),
        Some(_) => Err(MetadataError::Location),
    }
}

/// The certificates for signing or without a declared use.
fn signing_certificates(descriptor: XmlNode<'_>) -> Vec<String> {
    let keys = descriptor.children_named(METADATA, "KeyDescriptor");
    let signing = keys.filter(|key| matches!(key.attribute("use"), None | Some("" | "signing")));
    let data = signing
        .flat_map(|key| key.children_named(DSIG, "KeyInfo"))
        .flat_map(|info| info.children_named(DSIG, "X509Data"));
    let texts = data.flat_map(|data| data.children_named(DSIG, "X509Certificate")).map(XmlNode::text);
    texts.map(|text| text.split_whitespace().collect::<String>()).filter(|text| !text.is_empty()).collect()
}

/// Parses `xs:duration`: `P1Y2M3DT4H5M6.5S`, optionally negative.
/// As in the reference a month has 30 days and a year 365.
fn parse_duration(text: &str) -> Option<TimeDelta> {
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
        sum_units(date, &[('Y', 365 * day), ('M', 30 * day), ('D', day)])?,
        sum_units(time, &[('H', 60 * 60 * 1000), ('M', 60 * 1000), ('S', 1000)])?,
    ];
    let milliseconds = parts[0].checked_add(parts[1])?.checked_mul(sign)?;
    TimeDelta::try_milliseconds(milliseconds)
}

/// Sums numbers with units, in milliseconds.
/// Each unit occurs at most once and in order; only seconds have a fraction.
fn sum_units(mut text: &str, units: &[(char, i64)]) -> Option<i64> {
    let mut all = 0_i64;
    for (symbol, unit) in units {
        let Some((number, rest)) = text.split_once(*symbol) else { continue };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || (number.contains('.') && *symbol != 'S') {
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
