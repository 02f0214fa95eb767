//! The S3 protocol.
