//! Mail as the API sends it: to whom, and what happens when it cannot be sent.

mod recipients;
