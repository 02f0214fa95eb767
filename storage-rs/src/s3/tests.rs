//! Signatures and chunks, with the examples of the Amazon S3 API reference.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use http::{HeaderMap, HeaderValue, Method};
use proptest::prelude::*;
use serde_json::json;

use super::chunked::{ChunkSigner, Chunking};
use super::policy::{self, PolicyProblem};
use crate::backend::{Content, ContentError};
use crate::signature::{ServerKey, Signature, SignatureProblem, SignedRequest, parse_query, verify};

const KEY: ServerKey<'static> = ServerKey {
    access_key: "AKIAIOSFODNN7EXAMPLE",
    secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    region: "us-east-1",
    enforces_region: false,
};

fn at(text: &str) -> DateTime<Utc> {
    DateTime::parse_from_rfc3339(text).unwrap().to_utc()
}

fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
    fields.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_str(value).unwrap())).collect()
}

/// The GET request of the reference.
fn example() -> HeaderMap {
    headers(&[
        ("host", "examplebucket.s3.amazonaws.com"),
        ("range", "bytes=0-9"),
        ("x-amz-content-sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("x-amz-date", "20130524T000000Z"),
        (
            "authorization",
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,\
             SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,\
             Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        ),
    ])
}

fn check(headers: &HeaderMap, query: &[(String, String)], path: &str, now: &str) -> Result<(), SignatureProblem> {
    let signature = Signature::find(headers, query)?;
    let request = SignedRequest {
        method: &Method::GET,
        paths: vec!["/other".to_owned(), path.to_owned()],
        query,
        headers,
        hosts: vec!["localhost".to_owned(), "examplebucket.s3.amazonaws.com".to_owned()],
    };
    verify(&signature, &request, KEY, at(now))
}

#[test]
fn signature_of_a_header_is_verified() {
    let now = "2013-05-24T00:14:00Z";
    assert_eq!(check(&example(), &[], "/test.txt", now), Ok(()));
    assert_eq!(check(&example(), &[], "/test.tx", now), Err(SignatureProblem::Mismatch { has_session: false }));
    assert_eq!(check(&example(), &[], "/test.txt", "2013-05-24T00:16:00Z"), Err(SignatureProblem::Skewed));
    let mut changed = example();
    changed.insert("range", HeaderValue::from_static("bytes=0-8"));
    assert_eq!(check(&changed, &[], "/test.txt", now), Err(SignatureProblem::Mismatch { has_session: false }));
    assert_eq!(check(&HeaderMap::new(), &[], "/", now), Err(SignatureProblem::Missing));
}

#[test]
fn signature_of_a_query_is_verified_until_it_expires() {
    let query = parse_query(
        "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request\
         &X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host\
         &X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404",
    );
    let none = HeaderMap::new();
    assert_eq!(check(&none, &query, "/test.txt", "2013-05-24T23:59:59Z"), Ok(()));
    assert_eq!(check(&none, &query, "/test.txt", "2013-05-25T00:00:01Z"), Err(SignatureProblem::Expired));
    // Another header does not hide the signature of the query.
    let bearer = headers(&[("authorization", "Bearer x")]);
    assert_eq!(check(&bearer, &query, "/test.txt", "2013-05-24T23:59:59Z"), Ok(()));
}

fn signer() -> ChunkSigner {
    let scope = Signature::find(&example(), &[]).unwrap().scope;
    let seed = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9";
    ChunkSigner::new(scope.key(KEY.secret), "20130524T000000Z".to_owned(), scope.text(), seed.to_owned())
}

fn example_chunks() -> Vec<u8> {
    let mut body = Vec::new();
    for (size, signature) in [
        (65_536, "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648"),
        (1024, "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497"),
        (0, "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9"),
    ] {
        body.extend_from_slice(format!("{size:x};chunk-signature={signature}\r\n").as_bytes());
        body.extend(std::iter::repeat_n(b'a', size));
        body.extend_from_slice(b"\r\n");
    }
    body
}

fn split(body: &[u8], size: usize) -> Content {
    let parts: Vec<_> = body.chunks(size).map(|part| Ok(Bytes::copy_from_slice(part))).collect();
    stream::iter(parts).boxed()
}

fn decode(chunking: Chunking, body: &[u8], size: usize) -> Result<Vec<u8>, ContentError> {
    let collected = chunking.decode(split(body, size)).try_fold(Vec::new(), |mut all, part| async move {
        all.extend_from_slice(&part);
        Ok(all)
    });
    collected.now_or_never().unwrap()
}

fn signed(length: Option<u64>) -> Chunking {
    Chunking { signer: Some(signer()), has_trailer: false, trailers: vec![], length }
}

fn unsigned(trailer: &str) -> Chunking {
    Chunking { signer: None, has_trailer: true, trailers: vec![trailer.to_owned()], length: None }
}

#[test]
fn signed_chunks_are_verified() {
    let body = example_chunks();
    for size in [1, 7, 1000, body.len()] {
        assert_eq!(decode(signed(Some(66_560)), &body, size).unwrap(), vec![b'a'; 66_560]);
    }
    let mut changed = body.clone();
    changed[200] = b'b';
    assert!(matches!(decode(signed(None), &changed, 1000), Err(ContentError::ChunkSignature)));
    assert!(decode(signed(None), &body[..body.len() - 3], 1000).is_err());
    assert!(decode(signed(Some(66_559)), &body, 1000).is_err());
    assert!(decode(signed(Some(66_561)), &body, 1000).is_err());
    let longer = [body.as_slice(), b"x"].concat();
    assert!(decode(signed(None), &longer, 1000).is_err());
    let unsigned_chunk = b"1\r\na\r\n0\r\n\r\n";
    assert!(matches!(decode(signed(None), unsigned_chunk, 3), Err(ContentError::ChunkSignature)));
}

#[test]
fn checksums_of_a_trailer_are_compared() {
    // CRC-32 of "123456789" is cbf43926, CRC-32C e3069283, CRC-64/NVME ae8b14860a799888.
    for (name, value) in [
        ("x-amz-checksum-crc32", STANDARD.encode(0xcbf4_3926_u32.to_be_bytes())),
        ("x-amz-checksum-crc32c", STANDARD.encode(0xe306_9283_u32.to_be_bytes())),
        ("x-amz-checksum-crc64nvme", STANDARD.encode(0xae8b_1486_0a79_9888_u64.to_be_bytes())),
        ("x-amz-checksum-sha1", "98O8HYCOBHMqQZE9yD+jNV5wmN0=".to_owned()),
        ("x-amz-checksum-sha256", "FeKw0gmCjm1q1Wvs2l1jLTrM3tLQxkvkL/Yn5rAwPQs=".to_owned()),
    ] {
        let body = format!("5\r\n12345\r\n4\r\n6789\r\n0\r\n{name}:{value}\r\n\r\n");
        let found = decode(unsigned(name), body.as_bytes(), 4);
        if name.contains("sha") {
            // The digests of another text.
            assert!(matches!(found, Err(ContentError::DigestMismatch)), "{name}");
        } else {
            assert_eq!(found.unwrap(), b"123456789", "{name}");
        }
        assert!(decode(unsigned(name), b"1\r\na\r\n0\r\n\r\n", 4).is_err(), "{name}");
    }
    let chunking = Chunking { signer: None, has_trailer: true, trailers: vec![], length: Some(1) };
    assert_eq!(decode(chunking, b"1\r\na\r\n0\r\n\r\n", 2).unwrap(), b"a");
}

#[test]
fn policy_covers_every_field() {
    let policy = json!({
        "expiration": "2030-01-01T00:00:00Z",
        "conditions": [{"bucket": "b"}, ["starts-with", "$key", "up/"], ["content-length-range", 1, 10], ["eq", "$x-amz-meta-a", "1"]],
    });
    let policy = STANDARD.encode(policy.to_string());
    let form = |fields: &[(&str, &str)]| -> BTreeMap<String, String> {
        fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let good = form(&[("key", "up/a"), ("x-amz-meta-a", "1"), ("policy", &policy), ("x-ignore-me", "")]);
    let now = at("2029-01-01T00:00:00Z");
    assert_eq!(policy::verify(&policy, &good, "b", now), Ok((1, 10)));
    assert_eq!(policy::verify(&policy, &good, "b", now + TimeDelta::days(366)), Err(PolicyProblem::Expired));
    assert!(matches!(policy::verify(&policy, &good, "c", now), Err(PolicyProblem::Denied(_))));
    for (name, value) in [("key", "a"), ("x-amz-meta-a", "2"), ("x-amz-meta-b", "1"), ("acl", "public")] {
        let mut bad = good.clone();
        bad.insert(name.to_owned(), value.to_owned());
        assert!(matches!(policy::verify(&policy, &bad, "b", now), Err(PolicyProblem::Denied(_))), "{name}");
    }
    assert!(policy::verify("e30=", &good, "b", now).is_err());
}

proptest! {
    #[test]
    fn malformed_chunks_are_refused(body in proptest::collection::vec(any::<u8>(), 0..200), size in 1_usize..20) {
        // Random bytes are never signed chunks.
        prop_assert!(decode(signed(None), &body, size).is_err());
        let _ = decode(unsigned("x-amz-checksum-crc32"), &body, size);
    }

    #[test]
    fn headers_and_queries_never_panic(authorization in "AWS4-HMAC-SHA256 .{0,120}", query in ".{0,120}") {
        if let Ok(value) = HeaderValue::from_str(&authorization) {
            let mut map = headers(&[("x-amz-date", "20130524T000000Z")]);
            map.insert("authorization", value);
            let _ = check(&map, &parse_query(&query), "/", "2013-05-24T00:00:00Z");
        }
    }
}
