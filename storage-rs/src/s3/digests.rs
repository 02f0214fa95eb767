//! Digests that clients declare of content, and their comparison while the content passes.

use aws_lc_rs::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use crc::{CRC_32_ISCSI, CRC_32_ISO_HDLC, CRC_64_NVME, Crc, Table};
use futures::StreamExt;
use futures::stream;
use http::HeaderMap;
use md5::{Digest, Md5};

use crate::backend::{Content, ContentError};

static CRC32: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISO_HDLC);
static CRC32C: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);
static CRC64: Crc<u64, Table<16>> = Crc::<u64, Table<16>>::new(&CRC_64_NVME);

/// A digest of the bytes so far.
pub(crate) enum RunningDigest {
    Md5(Md5),
    Sha(Context),
    Crc32(crc::Digest<'static, u32, Table<16>>),
    Crc64(crc::Digest<'static, u64, Table<16>>),
}

impl RunningDigest {
    /// SHA-256.
    pub(crate) fn sha256() -> Self {
        Self::Sha(Context::new(&SHA256))
    }

    /// The digest that a header or trailer of this name declares.
    pub(crate) fn of_header(name: &str) -> Option<Self> {
        Some(match name {
            "content-md5" => Self::Md5(Md5::new()),
            "x-amz-checksum-sha256" => Self::sha256(),
            "x-amz-checksum-sha1" => Self::Sha(Context::new(&SHA1_FOR_LEGACY_USE_ONLY)),
            "x-amz-checksum-crc32" => Self::Crc32(CRC32.digest()),
            "x-amz-checksum-crc32c" => Self::Crc32(CRC32C.digest()),
            "x-amz-checksum-crc64nvme" => Self::Crc64(CRC64.digest()),
            _ => return None,
        })
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Md5(digest) => digest.update(bytes),
            Self::Sha(digest) => digest.update(bytes),
            Self::Crc32(digest) => digest.update(bytes),
            Self::Crc64(digest) => digest.update(bytes),
        }
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        match self {
            Self::Md5(digest) => digest.finalize().to_vec(),
            Self::Sha(digest) => digest.finish().as_ref().to_vec(),
            Self::Crc32(digest) => digest.finalize().to_be_bytes().to_vec(),
            Self::Crc64(digest) => digest.finalize().to_be_bytes().to_vec(),
        }
    }
}

/// A digest and what it shall be.
struct Declared {
    running: RunningDigest,
    expected: Vec<u8>,
}

/// What the headers of a request declare of its content.
///
/// # Errors
/// A digest is malformed; its name.
pub(crate) fn verify_declared(
    headers: &HeaderMap,
    content_sha256: Option<&str>,
    content: Content,
) -> Result<Content, &'static str> {
    let mut declared = Vec::new();
    if let Some(expected) = content_sha256.filter(|hash| hash.len() == 64).and_then(|hash| hex::decode(hash).ok()) {
        declared.push(Declared { running: RunningDigest::sha256(), expected });
    }
    for name in [
        "content-md5",
        "x-amz-checksum-sha256",
        "x-amz-checksum-sha1",
        "x-amz-checksum-crc32",
        "x-amz-checksum-crc32c",
        "x-amz-checksum-crc64nvme",
    ] {
        let Some(value) = headers.get(name) else { continue };
        let expected = STANDARD.decode(value.as_bytes()).map_err(|_| name)?;
        if let Some(running) = RunningDigest::of_header(name) {
            declared.push(Declared { running, expected });
        }
    }
    if declared.is_empty() {
        return Ok(content);
    }
    Ok(stream::unfold(Some((content, declared)), next).boxed())
}

type State = Option<(Content, Vec<Declared>)>;

/// Passes content on, and an error behind it if a digest differs.
async fn next(state: State) -> Option<(Result<bytes::Bytes, ContentError>, State)> {
    let (mut content, mut declared) = state?;
    match content.next().await {
        Some(Ok(bytes)) => {
            for digest in &mut declared {
                digest.running.update(&bytes);
            }
            Some((Ok(bytes), Some((content, declared))))
        }
        Some(Err(error)) => Some((Err(error), None)),
        None if declared.into_iter().all(|digest| digest.running.finish() == digest.expected) => None,
        None => Some((Err(ContentError::DigestMismatch), None)),
    }
}
