//! What keeps the database in shape beside the requests.

mod cleanup;
mod indexes;
