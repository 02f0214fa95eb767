//! Responses of a SAML identity provider.

use serde_json::Value;

use super::saml_signature::sign;
use super::tokens::iso_time;

const PROTOCOL: &str = "urn:oasis:names:tc:SAML:2.0:protocol";
const ASSERTION: &str = "urn:oasis:names:tc:SAML:2.0:assertion";
const PERSISTENT: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent";
const CONTEXT: &str = "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport";
const BEARER: &str = "urn:oasis:names:tc:SAML:2.0:cm:bearer";
const STATUS: &str = "urn:oasis:names:tc:SAML:2.0:status";

/// A response as a flow wants it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Response<'a> {
    arguments: &'a Value,
    base: &'a str,
    now: f64,
}

impl<'a> Response<'a> {
    /// Creates a response for the service provider at `base`.
    pub(super) fn new(arguments: &'a Value, base: &'a str, now: f64) -> Self {
        Self { arguments, base, now }
    }

    fn text(&self, name: &str, default: &str) -> String {
        self.arguments[name].as_str().unwrap_or(default).to_owned()
    }

    fn at(&self, name: &str, default: f64) -> String {
        iso_time(self.now + self.arguments[name].as_f64().unwrap_or(default))
    }

    fn in_response_to(&self) -> String {
        self.arguments["in_response_to"].as_str().map(|id| format!(" InResponseTo=\"{id}\"")).unwrap_or_default()
    }

    /// Formats the response with its signatures.
    pub(super) fn to_xml(self) -> String {
        let (entity, serial) = (self.text("entity", ""), self.text("serial", "1"));
        let signed = self.text("sign", "assertion");
        let assertion = self.assertion(&entity, &serial, matches!(signed.as_str(), "assertion" | "both"));
        let consumer = format!("{}/sso/saml/acs", self.base);
        let head = format!(
            "<samlp:Response xmlns:samlp=\"{PROTOCOL}\" Destination=\"{}\" ID=\"response-{serial}\"{} IssueInstant=\"{}\" Version=\"2.0\">\
             <saml:Issuer xmlns:saml=\"{ASSERTION}\">{}</saml:Issuer>",
            self.text("destination", &consumer),
            self.in_response_to(),
            self.at("issued", 0.0),
            self.text("response_issuer", &entity)
        );
        let tail = format!(
            "<samlp:Status><samlp:StatusCode Value=\"{STATUS}:{}\"></samlp:StatusCode></samlp:Status>{}{assertion}</samlp:Response>",
            self.text("status", "Success"),
            self.text("beside", "")
        );
        let is_signed = matches!(signed.as_str(), "response" | "both");
        let signature =
            if is_signed { sign(&format!("{head}{tail}"), &format!("response-{serial}")) } else { String::new() };
        head + &signature + &tail
    }

    fn assertion(self, entity: &str, serial: &str, is_signed: bool) -> String {
        let head = format!(
            "<saml:Assertion xmlns:saml=\"{ASSERTION}\" ID=\"assertion-{serial}\" IssueInstant=\"{}\" Version=\"2.0\"><saml:Issuer>{entity}</saml:Issuer>",
            self.at("issued", 0.0)
        );
        let tail = self.subject() + &self.conditions() + &self.statements() + "</saml:Assertion>";
        let signature =
            if is_signed { sign(&format!("{head}{tail}"), &format!("assertion-{serial}")) } else { String::new() };
        // What is changed after signing makes the signature invalid.
        let tampered = match (self.arguments["tamper"][0].as_str(), self.arguments["tamper"][1].as_str()) {
            (Some(from), Some(to)) => tail.replace(from, to),
            _ => tail,
        };
        head + &signature + &tampered
    }

    fn subject(self) -> String {
        let consumer = format!("{}/sso/saml/acs", self.base);
        format!(
            "<saml:Subject><saml:NameID Format=\"{}\">{}</saml:NameID><saml:SubjectConfirmation Method=\"{BEARER}\">\
             <saml:SubjectConfirmationData{} NotOnOrAfter=\"{}\" Recipient=\"{}\"></saml:SubjectConfirmationData>\
             </saml:SubjectConfirmation></saml:Subject>",
            self.text("name_format", PERSISTENT),
            escape(&self.text("name_id", "")),
            self.in_response_to(),
            self.at("ends", 300.0),
            self.text("recipient", &consumer)
        )
    }

    fn conditions(self) -> String {
        let audience = format!("{}/sso/saml/metadata", self.base);
        format!(
            "<saml:Conditions NotBefore=\"{}\" NotOnOrAfter=\"{}\"><saml:AudienceRestriction><saml:Audience>{}</saml:Audience>\
             </saml:AudienceRestriction></saml:Conditions>",
            self.at("starts", -60.0),
            self.at("ends", 300.0),
            self.text("audience", &audience)
        )
    }

    fn statements(self) -> String {
        let session = if self.arguments["session_ends"].is_null() {
            String::new()
        } else {
            format!(" SessionNotOnOrAfter=\"{}\"", self.at("session_ends", 0.0))
        };
        let attributes: String =
            self.arguments["attributes"].as_object().into_iter().flatten().map(attribute).collect();
        let attributes = if attributes.is_empty() {
            attributes
        } else {
            format!("<saml:AttributeStatement>{attributes}</saml:AttributeStatement>")
        };
        format!(
            "<saml:AuthnStatement AuthnInstant=\"{}\"{session}><saml:AuthnContext><saml:AuthnContextClassRef>{CONTEXT}\
             </saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>{attributes}",
            self.at("issued", 0.0)
        )
    }
}

fn attribute((name, value): (&String, &Value)) -> String {
    let values = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
    let mut elements = String::new();
    for value in &values {
        let text = escape(value.as_str().unwrap_or_default());
        elements.extend(["<saml:AttributeValue>", &text, "</saml:AttributeValue>"]);
    }
    format!("<saml:Attribute Name=\"{}\">{elements}</saml:Attribute>", escape(name))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('>', "&gt;").replace('<', "&lt;")
}
