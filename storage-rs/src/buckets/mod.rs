//! Buckets: create, list, get, update, empty, delete.
