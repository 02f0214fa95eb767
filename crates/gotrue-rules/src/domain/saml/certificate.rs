//! X.509 certificates as SAML uses them: a public key and a validity period.
//! No chain is built and no authority is consulted: the certificates in the metadata stored by the administrator are
//! trusted, compared byte by byte.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::NaiveDateTime;
use foundation::time::Time;

const SEQUENCE: u8 = 0x30;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const VERSION: u8 = 0xa0;

/// A certificate of an identity provider, of which the key and the dates are used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    der: Vec<u8>,
    public_key: Vec<u8>,
    not_before: Time,
    not_after: Time,
}

impl Certificate {
    /// Parses base64 DER with white space anywhere, as XML contains it.
    pub fn from_base64(base64: &str) -> Option<Self> {
        let text: String = base64.chars().filter(|c| !c.is_ascii_whitespace()).collect();
        Self::from_der(STANDARD.decode(text).ok()?)
    }

    /// Parses a certificate in DER.
    pub fn from_der(der: Vec<u8>) -> Option<Self> {
        let mut all = der.as_slice();
        let mut certificate = take_tagged(&mut all, SEQUENCE)?.content;
        if !all.is_empty() {
            return None;
        }
        let mut to_be_signed = take_tagged(&mut certificate, SEQUENCE)?.content;
        if to_be_signed.first() == Some(&VERSION) {
            take_value(&mut to_be_signed)?;
        }
        // Serial number, signature algorithm, issuer.
        for _ in 0..3 {
            take_value(&mut to_be_signed)?;
        }
        let mut validity = take_tagged(&mut to_be_signed, SEQUENCE)?.content;
        let (not_before, not_after) =
            (parse_time(&take_value(&mut validity)?)?, parse_time(&take_value(&mut validity)?)?);
        take_value(&mut to_be_signed)?;
        let public_key = take_tagged(&mut to_be_signed, SEQUENCE)?.whole.to_vec();
        Some(Self { der, public_key, not_before, not_after })
    }

    /// The DER encoding.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// The public key (`SubjectPublicKeyInfo`).
    pub fn public_key(&self) -> &[u8] {
        &self.public_key
    }

    /// Whether the validity period includes this time.
    pub fn is_valid_at(&self, now: Time) -> bool {
        self.not_before <= now && now <= self.not_after
    }
}

struct DerValue<'a> {
    tag: u8,
    content: &'a [u8],
    whole: &'a [u8],
}

/// Takes the next value, which must have this tag.
fn take_tagged<'a>(rest: &mut &'a [u8], tag: u8) -> Option<DerValue<'a>> {
    take_value(rest).filter(|element| element.tag == tag)
}

/// Takes the next value.
fn take_value<'a>(rest: &mut &'a [u8]) -> Option<DerValue<'a>> {
    let all = *rest;
    let (&tag, after) = all.split_first()?;
    let (&first, mut after) = after.split_first()?;
    let mut length = usize::from(first);
    if first >= 0x80 {
        let size = usize::from(first & 0x7f);
        // Certificates have no lengths of more than three bytes, and DER has no indefinite lengths.
        if size == 0 || size > 3 {
            return None;
        }
        let (bytes, beyond) = after.split_at_checked(size)?;
        length = bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
        after = beyond;
    }
    let (content, beyond) = after.split_at_checked(length)?;
    *rest = beyond;
    Some(DerValue { tag, content, whole: &all[..all.len() - beyond.len()] })
}

fn parse_time(element: &DerValue<'_>) -> Option<Time> {
    let text = std::str::from_utf8(element.content).ok()?;
    let text = match element.tag {
        GENERALIZED_TIME => text.to_owned(),
        // RFC 5280 §4.1.2.5.1: years from 50 are 19YY.
        UTC_TIME => format!("{}{text}", if text.get(..2)? < "50" { "20" } else { "19" }),
        _ => return None,
    };
    NaiveDateTime::parse_from_str(&text, "%Y%m%d%H%M%SZ").ok().map(|time| time.and_utc())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Valid from 2020-01-01 to 2120-01-01, so with both date formats. The key is for tests only.
    pub(super) const EXAMPLE: &str = "MIICwTCCAamgAwIBAgIBATANBgkqhkiG9w0BAQsFADAjMSEwHwYDVQQDDBhyZXBsYXkgaWRlbnRpdHkgcHJvdmlkZXIwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMCMxITAfBgNVBAMMGHJlcGxheSBpZGVudGl0eSBwcm92aWRlcjCCASIwDQYJKoZIhvcNAQEBBQADggEPADCCAQoCggEBAN+o/roHutJUV6ZfvcrKjnxEkiLJhrSxqFMmnKOP1tNlw02RMaKnJW62HfTxyFxe8m8y6JIGiz0Q0EOC5DVt+s/oE6czuR1nEhxBwRjjnC2w62Bfv1Caog+S2x1JSz3eg/+mdlXcdRdf29TOYxEYXQTZYUK/WdL0y85sZb6SG2qif7en7RLpQ9vlIhue8wwEdfN5quvL4Q9M4HnENttct3hEg8odVjv6QJEWE7NTn6hy3eqrXt8io8Pn1fVtGulL6s4Yp0DNWz+aDDfEA792Gr3/cml1nbCeNlVQ2dVkRmP0b1JNh2zF1HIvQoiN7hrKycbS6vC1Kv0mhBikYweBwHsCAwEAATANBgkqhkiG9w0BAQsFAAOCAQEAT+uSXHwY0te35o7Kds6K0KnDpeHnCcJPOzPV96/8Qb/C7hHY1tzjd5gohS7xWzQmuzt9riiaqATsIzTUIuRay4Sc5eC5Zhv4oD0Fj0FsvamfYM04uiBTgPhMF7uBLzkMDtkZ1W4YUy1wF0D8mH5sMt7mGmnn4N2bvqEcbPpA24ban3Ojdz1uW5Qa9c1cmIimd3SOE/m2BFB9LE18Cesr4WWyt+4PiI+QEwL3b8zkdtBnkNgsuq+PClz4B0OlEH1TqTFfNcpgqtuUYOCUcsjKEgNV9f1Nuc8k0l5pN6yr3bK4Cp4YOdE8huLKCN1a5eU/hai9UknKXdO5omrkiNgDGQ==";

    #[test]
    fn certificate_has_key_and_validity_period() {
        let spaced = format!("\n  {}\n {}", &EXAMPLE[..64], &EXAMPLE[64..]);
        let certificate = Certificate::from_base64(&spaced).unwrap();
        assert_eq!(certificate.not_before.to_rfc3339(), "2020-01-01T00:00:00+00:00");
        assert_eq!(certificate.not_after.to_rfc3339(), "2120-01-01T00:00:00+00:00");
        assert_eq!((certificate.public_key().len(), certificate.public_key()[0]), (294, SEQUENCE));
        assert!(certificate.is_valid_at(certificate.not_after) && certificate.is_valid_at(certificate.not_before));
        assert!(!certificate.is_valid_at(certificate.not_after + chrono::TimeDelta::seconds(1)));
        assert_eq!(Certificate::from_der(certificate.der().to_vec()), Some(certificate));
    }

    #[test]
    fn malformed_certificates_are_rejected() {
        for text in
            ["", "AAAA", "not base64!", "MAA=", "MIAAAA==", &EXAMPLE[..400], &EXAMPLE.replace("MIICwT", "MIICwD")]
        {
            assert_eq!(Certificate::from_base64(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0usize..700, by in any::<u8>()) {
            let _read = Certificate::from_der(bytes);
            let mut der = STANDARD.decode(EXAMPLE).unwrap();
            let length = der.len();
            der[at % length] = by;
            let _changed = Certificate::from_der(der);
        }
    }
}
