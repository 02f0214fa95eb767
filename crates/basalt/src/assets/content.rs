//! Properties of a file's content: media type, digest, compressed form.

use std::io::{Read, Write};

use ::brotli::enc::BrotliEncoderParams;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// The highest level that takes less than a few milliseconds for a page.
const BROTLI_QUALITY: i32 = 9;

/// A content coding of embedded files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    /// `br`.
    Brotli,
    Gzip,
}

impl Coding {
    /// Returns the coding's name in headers.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }
}

/// Returns whether `Accept-Encoding` allows a coding: named or covered by `*`, with a weight above 0.
pub(super) fn accepts(header: &str, coding: Coding) -> bool {
    let weight_of = |name: &str| {
        header.split(',').find_map(|part| {
            let mut fields = part.split(';').map(str::trim);
            let named = fields.next().is_some_and(|found| found.eq_ignore_ascii_case(name));
            let weight = fields.find_map(|field| field.strip_prefix("q=")).and_then(|text| text.parse::<f32>().ok());
            named.then(|| weight.unwrap_or(1.0))
        })
    };
    weight_of(coding.name()).or_else(|| weight_of("*")).is_some_and(|weight| weight > 0.0)
}

/// Returns the media type by the name's extension.
pub(super) fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "avif" => "image/avif",
        "webp" => "image/webp",
        "jpg" | "jpeg" => "image/jpeg",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "json" => "application/json",
        "webmanifest" => "application/manifest+json",
        "xml" => "application/xml",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

/// Compresses by gzip, for files that are filled in at startup.
/// Returns `None` if that fails.
pub(super) fn gzip(body: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(body).ok()?;
    encoder.finish().ok()
}

/// Compresses by brotli, for files that are filled in at startup.
/// Returns `None` if that fails.
pub(super) fn brotli(body: &[u8]) -> Option<Vec<u8>> {
    let params =
        BrotliEncoderParams { quality: BROTLI_QUALITY, size_hint: body.len(), ..BrotliEncoderParams::default() };
    let mut compressed = Vec::new();
    ::brotli::BrotliCompress(&mut &*body, &mut compressed, &params).ok()?;
    Some(compressed)
}

/// Decompresses gzip; on an error, returns the part that could be decompressed.
pub(super) fn gunzip(body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    if let Err(error) = GzDecoder::new(body).read_to_end(&mut whole) {
        tracing::error!(%error, "decompressing a shop file failed");
    }
    whole
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn brotli_is_restored_and_smaller_than_gzip() {
        for text in [&include_bytes!("../../../../frontend/catalogue.toml")[..], include_bytes!("pages.rs")] {
            let compressed = brotli(text).expect("compressed");
            let mut restored = Vec::new();
            ::brotli::Decompressor::new(&*compressed, 4096).read_to_end(&mut restored).expect("a stream");
            assert_eq!(restored, text);
            assert!(compressed.len() < gzip(text).expect("compressed").len());
        }
    }
}
