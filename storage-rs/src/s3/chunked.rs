//! The content coding `aws-chunked`: chunks with signatures, and checksums in a trailer.
//!
//! <https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming.html>

use aws_lc_rs::hmac::{self, Key};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{Buf, Bytes, BytesMut};
use futures::StreamExt;
use futures::stream;
use memchr::memmem;

use super::digests::RunningDigest;
use crate::backend::{Content, ContentError};
use crate::signature::sha256;

/// The longest first line of a chunk, in bytes.
const MAXIMUM_HEADER: usize = 256;
/// The longest trailer, in bytes.
const MAXIMUM_TRAILER: usize = 16 * 1024;

/// How chunks are signed: each signature covers the one before.
#[derive(Debug, Clone)]
pub(crate) struct ChunkSigner {
    key: Key,
    timestamp: String,
    scope: String,
    previous: String,
}

impl ChunkSigner {
    /// Begins with the signature of the request.
    pub(crate) fn new(key: Key, timestamp: String, scope: String, previous: String) -> Self {
        Self { key, timestamp, scope, previous }
    }

    fn verify(&mut self, kind: &str, hashes: &str, signature: &str) -> Result<(), ContentError> {
        let text = format!("{kind}\n{}\n{}\n{}\n{hashes}", self.timestamp, self.scope, self.previous);
        let expected = hex::decode(signature).map_err(|_| ContentError::ChunkSignature)?;
        hmac::verify(&self.key, text.as_bytes(), &expected).map_err(|_| ContentError::ChunkSignature)?;
        signature.clone_into(&mut self.previous);
        Ok(())
    }

    fn verify_chunk(&mut self, hash: &[u8], signature: &str) -> Result<(), ContentError> {
        let hashes = format!("{}\n{}", hex::encode(sha256(b"")), hex::encode(hash));
        self.verify("AWS4-HMAC-SHA256-PAYLOAD", &hashes, signature)
    }
}

/// How a body is chunked.
pub(crate) struct Chunking {
    /// Signs the chunks; `None` if they are not signed.
    pub signer: Option<ChunkSigner>,
    /// Whether a trailer follows the chunks.
    pub has_trailer: bool,
    /// The names of the trailers with a checksum.
    pub trailers: Vec<String>,
    /// The number of bytes without the coding.
    pub length: Option<u64>,
}

impl Chunking {
    /// Whether the value of `x-amz-content-sha256` names a way to sign chunks: whether they are signed, and whether there is a
    /// trailer.
    ///
    /// # Errors
    /// The name begins as such a name, and is none.
    pub(crate) fn parse_algorithm(name: &str) -> Result<Option<(bool, bool)>, ()> {
        match name {
            "STREAMING-UNSIGNED-PAYLOAD-TRAILER" => Ok(Some((false, true))),
            "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" => Ok(Some((true, false))),
            "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER" => Ok(Some((true, true))),
            _ if name.starts_with("STREAMING-") => Err(()),
            _ => Ok(None),
        }
    }

    /// Removes the coding from content.
    pub(crate) fn decode(self, content: Content) -> Content {
        let digests =
            self.trailers.iter().filter_map(|name| Some((name.clone(), RunningDigest::of_header(name)?))).collect();
        let decoder = Decoder {
            content,
            buffer: BytesMut::new(),
            state: State::Header,
            chunk: Chunk::default(),
            digests,
            received: 0,
            chunking: self,
        };
        stream::unfold(Some(decoder), |decoder| async move {
            let mut decoder = decoder?;
            match decoder.next().await {
                Ok(Some(bytes)) => Some((Ok(bytes), Some(decoder))),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        })
        .boxed()
    }
}

/// What a decoder reads next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Header,
    Data { left: u64 },
    Footer,
    Trailer,
    End,
}

/// The chunk that is being read.
#[derive(Default)]
struct Chunk {
    signature: String,
    hash: Option<RunningDigest>,
    is_last: bool,
}

struct Decoder {
    content: Content,
    buffer: BytesMut,
    state: State,
    chunk: Chunk,
    digests: Vec<(String, RunningDigest)>,
    received: u64,
    chunking: Chunking,
}

impl Decoder {
    /// The next bytes of the content.
    async fn next(&mut self) -> Result<Option<Bytes>, ContentError> {
        loop {
            if let Some(bytes) = self.advance()? {
                return Ok(Some(bytes));
            }
            if self.state == State::End && self.buffer.is_empty() {
                return match self.content.next().await {
                    None => Ok(None),
                    Some(Ok(bytes)) if bytes.is_empty() => continue,
                    Some(Ok(_)) => Err(ContentError::Chunk("Unexpected data after final chunk")),
                    Some(Err(error)) => Err(error),
                };
            }
            match self.content.next().await {
                Some(bytes) => self.buffer.extend_from_slice(&bytes?),
                None => return Err(self.incomplete()),
            }
        }
    }

    fn incomplete(&self) -> ContentError {
        ContentError::Chunk(match self.state {
            State::Header if self.buffer.is_empty() => "Missing final chunk",
            State::Header => "Incomplete chunk header",
            State::Data { .. } => "Unexpected end of chunk data",
            State::Footer => "Missing CRLF after chunk data",
            State::Trailer => "Incomplete trailer section",
            State::End => "Unexpected data after final chunk",
        })
    }

    /// Reads what the buffer has. Returns bytes of content, or `None` when more are needed.
    fn advance(&mut self) -> Result<Option<Bytes>, ContentError> {
        loop {
            match self.state {
                State::Header => {
                    if !self.read_header()? {
                        return Ok(None);
                    }
                }
                State::Data { left: 0 } => self.end_data()?,
                State::Data { .. } | State::End if self.buffer.is_empty() => return Ok(None),
                State::Data { left } => return Ok(Some(self.read_data(left)?)),
                State::Footer if self.buffer.len() < 2 => return Ok(None),
                State::Footer => {
                    if !self.buffer.starts_with(b"\r\n") {
                        return Err(ContentError::Chunk("Missing CRLF after chunk data"));
                    }
                    self.buffer.advance(2);
                    self.state = if self.chunk.is_last { State::End } else { State::Header };
                    if self.chunk.is_last {
                        self.verify_length()?;
                    }
                }
                State::Trailer => {
                    if !self.read_trailer()? {
                        return Ok(None);
                    }
                }
                State::End => return Err(ContentError::Chunk("Unexpected data after final chunk")),
            }
        }
    }

    /// Reads the first line of a chunk; `false` when more bytes are needed.
    fn read_header(&mut self) -> Result<bool, ContentError> {
        let Some(end) = memmem::find(&self.buffer, b"\r\n") else {
            if self.buffer.len() > MAXIMUM_HEADER + 1 {
                return Err(ContentError::Chunk("Invalid chunk header"));
            }
            return Ok(false);
        };
        if end > MAXIMUM_HEADER {
            return Err(ContentError::Chunk("Invalid chunk header"));
        }
        let line = self.buffer.split_to(end);
        self.buffer.advance(2);
        let line = std::str::from_utf8(&line).map_err(|_| ContentError::Chunk("Invalid chunk header"))?;
        let (size, signature) = match line.split_once(";chunk-signature=") {
            Some((size, signature)) => (size, Some(signature)),
            None => (line, None),
        };
        if size.is_empty() || size.len() > 15 || !size.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(ContentError::Chunk("Invalid chunk size"));
        }
        let size = u64::from_str_radix(size, 16).map_err(|_| ContentError::Chunk("Invalid chunk size"))?;
        let is_signed = self.chunking.signer.is_some();
        self.chunk = Chunk {
            signature: match signature {
                Some(signature) => signature.to_owned(),
                None if is_signed => return Err(ContentError::ChunkSignature),
                None => String::new(),
            },
            hash: is_signed.then(RunningDigest::sha256),
            is_last: size == 0,
        };
        self.state = State::Data { left: size };
        Ok(true)
    }

    fn read_data(&mut self, left: u64) -> Result<Bytes, ContentError> {
        let length = usize::try_from(left).map_or(self.buffer.len(), |left| left.min(self.buffer.len()));
        let bytes = self.buffer.split_to(length).freeze();
        if let Some(hash) = &mut self.chunk.hash {
            hash.update(&bytes);
        }
        for (_, digest) in &mut self.digests {
            digest.update(&bytes);
        }
        self.received += length as u64;
        if self.chunking.length.is_some_and(|declared| self.received > declared) {
            return Err(ContentError::Incomplete);
        }
        self.state = State::Data { left: left - length as u64 };
        Ok(bytes)
    }

    /// The data of a chunk is complete: its signature is compared.
    fn end_data(&mut self) -> Result<(), ContentError> {
        if let (Some(signer), Some(hash)) = (&mut self.chunking.signer, self.chunk.hash.take()) {
            signer.verify_chunk(&hash.finish(), &self.chunk.signature)?;
        }
        self.state = if self.chunk.is_last && self.chunking.has_trailer { State::Trailer } else { State::Footer };
        Ok(())
    }

    fn verify_length(&self) -> Result<(), ContentError> {
        match self.chunking.length {
            Some(declared) if declared != self.received => Err(ContentError::Incomplete),
            _ => Ok(()),
        }
    }

    /// Reads the trailer; `false` when more bytes are needed.
    fn read_trailer(&mut self) -> Result<bool, ContentError> {
        let end = if self.buffer.starts_with(b"\r\n") { Some(0) } else { memmem::find(&self.buffer, b"\r\n\r\n") };
        let Some(end) = end else {
            if self.buffer.len() > MAXIMUM_TRAILER {
                return Err(ContentError::Chunk("Incomplete trailer section"));
            }
            return Ok(false);
        };
        let block = self.buffer.split_to(end);
        self.buffer.advance(if end == 0 { 2 } else { 4 });
        let block = std::str::from_utf8(&block).map_err(|_| ContentError::Chunk("Incomplete trailer section"))?;
        let fields: Vec<(String, &str)> = block
            .split("\r\n")
            .flat_map(|line| line.split('\n'))
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim()))
            .collect();
        self.verify_trailer(&fields)?;
        self.verify_length()?;
        self.state = State::End;
        Ok(true)
    }

    fn verify_trailer(&mut self, fields: &[(String, &str)]) -> Result<(), ContentError> {
        let find = |wanted: &str| fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| *value);
        if let Some(signer) = &mut self.chunking.signer {
            let signature = find("x-amz-trailer-signature").ok_or(ContentError::ChunkSignature)?;
            let mut signed = String::new();
            for (name, value) in fields.iter().filter(|(name, _)| name != "x-amz-trailer-signature") {
                signed.extend([name.as_str(), ":", value, "\n"]);
            }
            signer.verify("AWS4-HMAC-SHA256-TRAILER", &hex::encode(sha256(signed.as_bytes())), signature)?;
        }
        for (name, digest) in self.digests.drain(..) {
            let declared = find(&name).and_then(|value| STANDARD.decode(value).ok());
            if declared != Some(digest.finish()) {
                return Err(ContentError::DigestMismatch);
            }
        }
        Ok(())
    }
}
