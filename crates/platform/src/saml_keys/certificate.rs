//! The self-signed certificate of a key of the service provider.
//!
//! Identity providers compare it byte by byte, so it is built like the reference's: operators who migrate need not
//! register it again.

use super::signature::SamlKeyError;

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const UTF8_STRING: u8 = 0x0c;
const PRINTABLE_STRING: u8 = 0x13;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// Version 3 and the serial number 0.
const VERSION_AND_SERIAL: [u8; 8] = [0xa0, 0x03, 0x02, 0x01, 0x02, 0x02, 0x01, 0x00];
/// sha256WithRSAEncryption.
const SHA256_WITH_RSA: [u8; 15] =
    [0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b, 0x05, 0x00];
/// rsaEncryption.
const RSA: [u8; 15] = [0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];
const COMMON_NAME: [u8; 5] = [0x06, 0x03, 0x55, 0x04, 0x03];
/// keyUsage, critical.
const KEY_USAGE: [u8; 8] = [0x06, 0x03, 0x55, 0x1d, 0x0f, 0x01, 0x01, 0xff];
/// subjectAltName.
const ALTERNATIVE_NAME: [u8; 5] = [0x06, 0x03, 0x55, 0x1d, 0x11];
/// A DNS name among alternative names.
const DNS_NAME: u8 = 0x82;

/// The subject of the certificate.
#[derive(Debug)]
pub struct Subject<'a> {
    /// The external URL, whose host is the common name.
    pub external_url: &'a str,
    /// Whether the key may be used for encryption, too.
    pub encryption: bool,
}

/// Builds the certificate of a public key in PKCS#1 DER, valid for 200 years from 1970.
///
/// `sign` signs with RSA and SHA-256.
pub fn build_certificate(
    public_key: &[u8],
    subject: &Subject<'_>,
    sign: impl Fn(&[u8]) -> Result<Vec<u8>, SamlKeyError>,
) -> Result<Vec<u8>, SamlKeyError> {
    let host = parse_host(subject.external_url);
    let name = encode_name(&format!("SAML 2.0 Certificate for {host}"));
    let validity =
        [encode_der(UTC_TIME, &[b"700101000000Z"]), encode_der(GENERALIZED_TIME, &[b"21700101000000Z"])].concat();
    let key = encode_der(SEQUENCE, &[&RSA, &encode_bit_string(public_key)]);
    let signed = encode_der(
        SEQUENCE,
        &[
            &VERSION_AND_SERIAL,
            &SHA256_WITH_RSA,
            &name,
            &encode_der(SEQUENCE, &[&validity]),
            &name,
            &key,
            &encode_der(0xa3, &[&encode_extensions(&host, subject.encryption)]),
        ],
    );
    let signature = encode_bit_string(&sign(&signed)?);
    Ok(encode_der(SEQUENCE, &[&signed, &SHA256_WITH_RSA, &signature]))
}

fn encode_name(text: &str) -> Vec<u8> {
    let printable = |byte: u8| byte.is_ascii_alphanumeric() || b" '()+,-./:=?".contains(&byte);
    let kind = if text.bytes().all(printable) { PRINTABLE_STRING } else { UTF8_STRING };
    let text = encode_der(kind, &[text.as_bytes()]);
    encode_der(SEQUENCE, &[&encode_der(SET, &[&encode_der(SEQUENCE, &[&COMMON_NAME, &text])])])
}

fn encode_extensions(host: &str, encryption: bool) -> Vec<u8> {
    // digitalSignature is the first bit, dataEncipherment the fourth.
    let bits: &[u8] = if encryption { &[4, 0b1001_0000] } else { &[7, 0b1000_0000] };
    let usage = encode_der(OCTET_STRING, &[&encode_der(BIT_STRING, &[bits])]);
    let dns = encode_der(DNS_NAME, &[format!("_samlsp.{host}").as_bytes()]);
    let names = encode_der(OCTET_STRING, &[&encode_der(SEQUENCE, &[&dns])]);
    let usage = encode_der(SEQUENCE, &[&KEY_USAGE, &usage]);
    let names = encode_der(SEQUENCE, &[&ALTERNATIVE_NAME, &names]);
    encode_der(SEQUENCE, &[&usage, &names])
}

/// Encodes whole bytes as a bit string.
fn encode_bit_string(bytes: &[u8]) -> Vec<u8> {
    encode_der(BIT_STRING, &[&[0], bytes])
}

/// Encodes a value in DER: tag, length, content.
fn encode_der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = content.len().to_be_bytes();
    let length: Vec<u8> = length.into_iter().skip_while(|byte| *byte == 0).collect();
    let mut value = vec![tag];
    match length.as_slice() {
        [] => value.push(0),
        [short] if *short < 128 => value.push(*short),
        long => {
            value.push(0x80 | u8::try_from(long.len()).unwrap_or(8));
            value.extend_from_slice(long);
        }
    }
    value.extend(content);
    value
}

/// Returns the host as written, without user and port; empty for a path.
fn parse_host(url: &str) -> String {
    let Some((_, rest)) = url.split_once("://") else { return String::new() };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.rsplit_once(':') {
        Some((bare, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !bare.ends_with('[') => {
            match bare.strip_prefix('[').and_then(|bare| bare.strip_suffix(']')) {
                Some(bare) => bare,
                // What looks like a port may be the end of an IPv6 address without brackets.
                None if bare.starts_with('[') => host,
                None => bare,
            }
        }
        _ => host,
    };
    if host.is_ascii() {
        return host.to_owned();
    }
    let parsed = url::Url::parse(url).ok();
    parsed.and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
}
