//! Resumable uploads (TUS 1.0.0).
