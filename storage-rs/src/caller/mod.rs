//! Who sends a request.
