//! X.509 certificates as SAML uses them: a box for a public key with two dates. No chain is built and no authority asked:
//! trusted is what stands in the description that an administrator gave us, byte by byte.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::NaiveDateTime;

use crate::domain::user::Time;

const SEQUENCE: u8 = 0x30;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const VERSION: u8 = 0xa0;

/// A certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    der: Vec<u8>,
    public_key: Vec<u8>,
    not_before: Time,
    not_after: Time,
}

impl Certificate {
    /// A certificate as XML carries it: DER in base64, with white space anywhere. None for anything else.
    pub fn read(base64: &str) -> Option<Self> {
        let text: String = base64.chars().filter(|c| !c.is_ascii_whitespace()).collect();
        Self::of_der(STANDARD.decode(text).ok()?)
    }

    /// A certificate in DER.
    pub fn of_der(der: Vec<u8>) -> Option<Self> {
        let mut all = der.as_slice();
        let mut certificate = take(&mut all, SEQUENCE)?.content;
        if !all.is_empty() {
            return None;
        }
        let mut to_be_signed = take(&mut certificate, SEQUENCE)?.content;
        if to_be_signed.first() == Some(&VERSION) {
            next(&mut to_be_signed)?;
        }
        // Its number, its algorithm, who issued it.
        for _ in 0..3 {
            next(&mut to_be_signed)?;
        }
        let mut validity = take(&mut to_be_signed, SEQUENCE)?.content;
        let (not_before, not_after) = (time(&next(&mut validity)?)?, time(&next(&mut validity)?)?);
        next(&mut to_be_signed)?;
        let public_key = take(&mut to_be_signed, SEQUENCE)?.whole.to_vec();
        Some(Self { der, public_key, not_before, not_after })
    }

    /// Its bytes.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// Its public key (`SubjectPublicKeyInfo`).
    pub fn public_key(&self) -> &[u8] {
        &self.public_key
    }

    /// Whether its dates include this moment.
    pub fn is_valid_at(&self, now: Time) -> bool {
        self.not_before <= now && now <= self.not_after
    }
}

/// A value of DER.
struct Element<'a> {
    tag: u8,
    content: &'a [u8],
    whole: &'a [u8],
}

/// The next value, which must be of this kind.
fn take<'a>(rest: &mut &'a [u8], tag: u8) -> Option<Element<'a>> {
    next(rest).filter(|element| element.tag == tag)
}

/// The next value, whatever it is.
fn next<'a>(rest: &mut &'a [u8]) -> Option<Element<'a>> {
    let all = *rest;
    let (&tag, after) = all.split_first()?;
    let (&first, mut after) = after.split_first()?;
    let mut length = usize::from(first);
    if first >= 0x80 {
        let size = usize::from(first & 0x7f);
        // A length of more than three bytes is none of a certificate, and indefinite ones are no DER.
        if size == 0 || size > 3 {
            return None;
        }
        let (bytes, beyond) = after.split_at_checked(size)?;
        length = bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
        after = beyond;
    }
    let (content, beyond) = after.split_at_checked(length)?;
    *rest = beyond;
    Some(Element { tag, content, whole: &all[..all.len() - beyond.len()] })
}

fn time(element: &Element<'_>) -> Option<Time> {
    let text = std::str::from_utf8(element.content).ok()?;
    let text = match element.tag {
        GENERALIZED_TIME => text.to_owned(),
        // RFC 5280: years from 50 are of the last century.
        UTC_TIME => format!("{}{text}", if text.get(..2)? < "50" { "20" } else { "19" }),
        _ => return None,
    };
    NaiveDateTime::parse_from_str(&text, "%Y%m%d%H%M%SZ").ok().map(|time| time.and_utc())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Valid from 2020-01-01 to 2120-01-01 (so with both kinds of dates); its key protects nothing.
    pub const EXAMPLE: &str = "MIICwTCCAamgAwIBAgIBATANBgkqhkiG9w0BAQsFADAjMSEwHwYDVQQDDBhyZXBsYXkgaWRlbnRpdHkgcHJvdmlkZXIwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMCMxITAfBgNVBAMMGHJlcGxheSBpZGVudGl0eSBwcm92aWRlcjCCASIwDQYJKoZIhvcNAQEBBQADggEPADCCAQoCggEBAN+o/roHutJUV6ZfvcrKjnxEkiLJhrSxqFMmnKOP1tNlw02RMaKnJW62HfTxyFxe8m8y6JIGiz0Q0EOC5DVt+s/oE6czuR1nEhxBwRjjnC2w62Bfv1Caog+S2x1JSz3eg/+mdlXcdRdf29TOYxEYXQTZYUK/WdL0y85sZb6SG2qif7en7RLpQ9vlIhue8wwEdfN5quvL4Q9M4HnENttct3hEg8odVjv6QJEWE7NTn6hy3eqrXt8io8Pn1fVtGulL6s4Yp0DNWz+aDDfEA792Gr3/cml1nbCeNlVQ2dVkRmP0b1JNh2zF1HIvQoiN7hrKycbS6vC1Kv0mhBikYweBwHsCAwEAATANBgkqhkiG9w0BAQsFAAOCAQEAT+uSXHwY0te35o7Kds6K0KnDpeHnCcJPOzPV96/8Qb/C7hHY1tzjd5gohS7xWzQmuzt9riiaqATsIzTUIuRay4Sc5eC5Zhv4oD0Fj0FsvamfYM04uiBTgPhMF7uBLzkMDtkZ1W4YUy1wF0D8mH5sMt7mGmnn4N2bvqEcbPpA24ban3Ojdz1uW5Qa9c1cmIimd3SOE/m2BFB9LE18Cesr4WWyt+4PiI+QEwL3b8zkdtBnkNgsuq+PClz4B0OlEH1TqTFfNcpgqtuUYOCUcsjKEgNV9f1Nuc8k0l5pN6yr3bK4Cp4YOdE8huLKCN1a5eU/hai9UknKXdO5omrkiNgDGQ==";

    #[test]
    fn a_certificate_is_a_key_with_two_dates() {
        let spaced = format!("\n  {}\n {}", &EXAMPLE[..64], &EXAMPLE[64..]);
        let certificate = Certificate::read(&spaced).unwrap();
        assert_eq!(certificate.not_before.to_rfc3339(), "2020-01-01T00:00:00+00:00");
        assert_eq!(certificate.not_after.to_rfc3339(), "2120-01-01T00:00:00+00:00");
        assert_eq!((certificate.public_key().len(), certificate.public_key()[0]), (294, SEQUENCE));
        assert!(certificate.is_valid_at(certificate.not_after) && certificate.is_valid_at(certificate.not_before));
        assert!(!certificate.is_valid_at(certificate.not_after + chrono::TimeDelta::seconds(1)));
        assert_eq!(Certificate::of_der(certificate.der().to_vec()), Some(certificate));
    }

    #[test]
    fn what_is_no_certificate_is_none() {
        for text in
            ["", "AAAA", "not base64!", "MAA=", "MIAAAA==", &EXAMPLE[..400], &EXAMPLE.replace("MIICwT", "MIICwD")]
        {
            assert_eq!(Certificate::read(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0usize..700, by in any::<u8>()) {
            let _read = Certificate::of_der(bytes);
            let mut der = STANDARD.decode(EXAMPLE).unwrap();
            let length = der.len();
            der[at % length] = by;
            let _changed = Certificate::of_der(der);
        }
    }
}
