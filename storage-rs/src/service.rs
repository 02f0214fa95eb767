//! The API: from a request to a response.
