//! The request: its syntax tree and the parsers that build it from URL, headers and body.

pub mod body;
mod grammar;
pub mod media_type;
pub mod parse;
mod parsec;
pub mod preferences;
pub mod query;
pub mod range;
pub mod tree;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use media_type::MediaType;
use preferences::Preferences;
use range::RowRange;
use tree::QueryParams;

/// A relation or function of a schema.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QualifiedName {
    /// The schema; empty where the search path decides.
    pub schema: String,
    /// The name of the relation or function.
    pub name: String,
}

/// The HTTP method of a function call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvokeMethod {
    /// POST: arguments in the body.
    Post,
    /// GET: arguments in the URL, in a read-only transaction.
    Get,
    /// HEAD: as GET, without a body.
    Head,
}

impl InvokeMethod {
    /// Whether the arguments are in the URL and the transaction is read-only.
    pub fn is_read(self) -> bool {
        self != Self::Post
    }
}

/// A write to a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutation {
    /// POST
    Insert,
    /// PATCH
    Update,
    Delete,
    /// PUT
    SingleUpsert,
}

/// What the request asks for, by its path and method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// GET or HEAD of a table or view.
    ReadRelation {
        /// The table or view.
        relation: QualifiedName,
        /// HEAD
        headers_only: bool,
    },
    /// POST, PATCH, PUT or DELETE of a table or view.
    Mutate {
        /// The table or view.
        relation: QualifiedName,
        /// The write.
        mutation: Mutation,
    },
    /// GET, HEAD or POST of a function.
    Invoke { function: QualifiedName, method: InvokeMethod },
    /// GET or HEAD of the root: the `OpenAPI` description of a schema.
    ReadSchema {
        schema: String,
        /// HEAD
        headers_only: bool,
    },
    /// OPTIONS of a table or view.
    InspectRelation(QualifiedName),
    /// OPTIONS of a function.
    InspectFunction(QualifiedName),
    /// OPTIONS of the root.
    InspectSchema,
}

impl Action {
    /// Whether the action sends a statement to the database (all but OPTIONS).
    pub fn uses_database(&self) -> bool {
        !matches!(self, Self::InspectRelation(_) | Self::InspectFunction(_) | Self::InspectSchema)
    }

    /// The mutation, if this is a write to a relation.
    pub fn mutation(&self) -> Option<Mutation> {
        match self {
            Self::Mutate { mutation, .. } => Some(*mutation),
            _ => None,
        }
    }
}

/// The body of a write or of a function call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload {
    /// JSON that was read, or made of CSV or a form: an object, or an array of objects with equal keys.
    Json {
        /// The text, as sent where it was JSON.
        raw: Bytes,
        /// The keys of the object, or of each object.
        keys: BTreeSet<String>,
    },
    /// The arguments of a function as a form.
    Form {
        /// In the order sent; a key may repeat.
        pairs: Vec<(String, String)>,
        /// The distinct keys.
        keys: BTreeSet<String>,
    },
    /// JSON that was not read, because the URL has `columns`.
    UnreadJson(Bytes),
    /// Bytes for the single unnamed parameter of a function: text, XML or octets.
    Raw(Bytes),
}

/// A request, read completely but not yet compared with the schema.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiRequest {
    /// What is asked for.
    pub action: Action,
    /// `limit` and `offset` by the dotted path of the embed (`child.limit`), the root's under `limit`. The root's includes the
    /// `Range` header.
    pub ranges: BTreeMap<String, RowRange>,
    /// The root's range: [`Self::ranges`] at `limit`, or all rows.
    pub top_level_range: RowRange,
    /// The body, where the action takes one.
    pub payload: Option<Payload>,
    /// The `Prefer` headers.
    pub preferences: Preferences,
    /// The query string.
    pub query: QueryParams,
    /// The columns written: those of `columns`, otherwise the keys of the payload.
    pub columns: BTreeSet<String>,
    /// The header fields, names in lower case, without `Cookie`, in the order sent.
    pub headers: Vec<(String, Bytes)>,
    pub cookies: Vec<(String, String)>,
    /// The path as sent.
    pub path: String,
    /// The method as sent.
    pub method: String,
    /// The schema: the profile's, otherwise the first configured one.
    pub schema: String,
    /// Whether the answer names the schema in `Content-Profile`.
    pub negotiated_by_profile: bool,
    /// The media types of `Accept`, best first.
    pub accept: Vec<MediaType>,
    /// The media type of the body; JSON by default.
    pub content_type: MediaType,
}

#[cfg(test)]
mod tests;
