//! Signatures of the S3 protocol, as clients make them (AWS Signature Version 4).

use std::fmt::Write;

use aws_lc_rs::{digest, hmac};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Who signs.
pub(crate) struct Signer<'a> {
    pub(crate) key: &'a str,
    pub(crate) secret: &'a str,
    pub(crate) region: &'a str,
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex::encode(digest::digest(&digest::SHA256, bytes).as_ref())
}

fn authenticate(key: &[u8], message: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message.as_bytes()).as_ref().to_vec()
}

/// Adds the header fields of a signature.
pub(crate) fn sign(signer: &Signer<'_>, method: &str, target: &str, headers: &mut Vec<(String, String)>, body: &[u8]) {
    #[expect(clippy::disallowed_methods, reason = "the server compares with the time of the machine")]
    let time = chrono::Utc::now().format("%Y%m%dT%H%M%SZ").to_string();
    headers.push(("x-amz-date".to_owned(), time.clone()));
    headers.push(("x-amz-content-sha256".to_owned(), sha256(body)));
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let encode =
        |text: &str| utf8_percent_encode(&percent_decode_str(text).decode_utf8_lossy(), UNRESERVED).to_string();
    let mut pairs: Vec<String> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            format!("{}={}", encode(name), encode(value))
        })
        .collect();
    pairs.sort();
    let mut covered: Vec<&(String, String)> = headers
        .iter()
        .filter(|(name, _)| ["host", "content-type", "range"].contains(&name.as_str()) || name.starts_with("x-amz-"))
        .collect();
    covered.sort();
    let mut fields = String::new();
    for (name, value) in &covered {
        writeln!(fields, "{name}:{}", value.trim()).expect("a String takes text");
    }
    let names = covered.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(";");
    let canonical = format!("{method}\n{path}\n{}\n{fields}\n{names}\n{}", pairs.join("&"), sha256(body));
    let day = &time[..8];
    let scope = format!("{day}/{}/s3/aws4_request", signer.region);
    let to_sign = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", sha256(canonical.as_bytes()));
    let mut key = format!("AWS4{}", signer.secret).into_bytes();
    for part in [day, signer.region, "s3", "aws4_request"] {
        key = authenticate(&key, part);
    }
    let proof = hex::encode(authenticate(&key, &to_sign));
    let value = format!("AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={proof}", signer.key);
    headers.push(("authorization".to_owned(), value));
}
