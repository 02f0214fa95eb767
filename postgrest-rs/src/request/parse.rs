//! The request as a whole.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::HeaderMap;
use http::request::Parts;
use percent_encoding::percent_decode_str;

use super::media_type::MediaType;
use super::preferences::Preferences;
use super::range::RowRange;
use super::tree::QueryParams;
use super::{Action, ApiRequest, InvokeMethod, Mutation, QualifiedName, body};
use crate::error::Error;
use crate::error::request::RangeError;

/// The settings that decide how a request is read.
#[derive(Debug, Clone, Copy)]
pub struct RequestRules<'a> {
    /// The exposed schemas, the default one first.
    pub schemas: &'a [String],
    /// The function that answers the root.
    pub root_function: Option<&'a QualifiedName>,
    /// Whether the root describes the schema.
    pub describes_root: bool,
    /// Whether `Prefer: tx=` is allowed.
    pub allows_transaction: bool,
    /// The most bytes of a body and of the rows that are read from it.
    pub maximum_body: usize,
}

/// What the path names.
enum Resource {
    Relation(String),
    Function(String),
    Schema,
}

impl ApiRequest {
    /// Reads a request. `is_timezone` tells the names of time zones that the database knows.
    ///
    /// # Errors
    /// `PGRST1xx`, in this order: path, profile, method, query string, range, body.
    pub fn parse(
        parts: &Parts,
        content: &Bytes,
        rules: &RequestRules<'_>,
        is_timezone: impl Fn(&str) -> bool,
    ) -> Result<Self, Error> {
        let method = parts.method.as_str();
        let headers = &parts.headers;
        let resource = find_resource(parts.uri.path(), rules)?;
        let (schema, negotiated_by_profile) = find_schema(method, headers, rules.schemas)?;
        let action = find_action(resource, &schema, method)?;
        let is_function_read = matches!(&action, Action::Invoke { method, .. } if method.is_read());
        let query = QueryParams::parse(parts.uri.query().unwrap_or_default(), is_function_read)?;
        let (top_level_range, ranges) = find_ranges(method, &query, headers)?;
        let content_type = text(headers, "content-type").map_or(MediaType::Json, |value| MediaType::parse(&value));
        let (payload, columns) = body::parse(content, &content_type, &query, &action, rules.maximum_body)?;
        let prefer: Vec<_> = headers.get_all("prefer").iter().map(|value| lossy(value.as_bytes())).collect();
        let preferences = Preferences::parse(prefer.iter().map(String::as_str), rules.allows_transaction, is_timezone);
        Ok(Self {
            action,
            ranges,
            top_level_range,
            payload,
            preferences,
            query,
            columns,
            headers: headers
                .iter()
                .filter(|(name, _)| *name != http::header::COOKIE)
                .map(|(name, value)| (name.as_str().to_owned(), Bytes::copy_from_slice(value.as_bytes())))
                .collect(),
            cookies: text(headers, "cookie").map(|header| parse_cookies(&header)).unwrap_or_default(),
            path: parts.uri.path().to_owned(),
            method: method.to_owned(),
            schema,
            negotiated_by_profile,
            accept: text(headers, "accept")
                .map_or_else(|| vec![MediaType::Any], |value| MediaType::parse_accept(&value)),
            content_type,
        })
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The first header field of this name.
fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).map(|value| lossy(value.as_bytes()))
}

/// The segments of the path, percent signs decoded.
fn find_resource(path: &str, rules: &RequestRules<'_>) -> Result<Resource, Error> {
    let path = path.strip_prefix('/').unwrap_or(path);
    if path.is_empty() {
        return match rules.root_function {
            _ if !rules.describes_root => Err(Error::openapi_disabled()),
            Some(function) => Ok(Resource::Function(function.name.clone())),
            None => Ok(Resource::Schema),
        };
    }
    let segments: Vec<String> =
        path.split('/').map(|segment| percent_decode_str(segment).decode_utf8_lossy().into_owned()).collect();
    if segments.iter().any(|segment| segment.contains('\0')) {
        return Err(Error::invalid_path());
    }
    match segments.as_slice() {
        [relation] => Ok(Resource::Relation(relation.clone())),
        [rpc, function] if rpc == "rpc" => Ok(Resource::Function(function.clone())),
        _ => Err(Error::invalid_path()),
    }
}

/// The schema, and whether the answer names it.
fn find_schema(method: &str, headers: &HeaderMap, schemas: &[String]) -> Result<(String, bool), Error> {
    let header = match method {
        "POST" | "PATCH" | "PUT" | "DELETE" => "content-profile",
        _ => "accept-profile",
    };
    match text(headers, header) {
        Some(profile) if schemas.contains(&profile) => Ok((profile, true)),
        Some(profile) => Err(Error::unacceptable_schema(&profile, schemas)),
        None => Ok((schemas.first().cloned().unwrap_or_default(), schemas.len() != 1)),
    }
}

fn find_action(resource: Resource, schema: &str, method: &str) -> Result<Action, Error> {
    let qualify = |name| QualifiedName { schema: schema.to_owned(), name };
    Ok(match (resource, method) {
        (Resource::Function(name), "HEAD") => Action::Invoke { function: qualify(name), method: InvokeMethod::Head },
        (Resource::Function(name), "GET") => Action::Invoke { function: qualify(name), method: InvokeMethod::Get },
        (Resource::Function(name), "POST") => Action::Invoke { function: qualify(name), method: InvokeMethod::Post },
        (Resource::Function(name), "OPTIONS") => Action::InspectFunction(qualify(name)),
        (Resource::Function(_), _) => return Err(Error::invalid_rpc_method(method)),
        (Resource::Relation(name), "HEAD") => Action::ReadRelation { relation: qualify(name), headers_only: true },
        (Resource::Relation(name), "GET") => Action::ReadRelation { relation: qualify(name), headers_only: false },
        (Resource::Relation(name), "POST") => Action::Mutate { relation: qualify(name), mutation: Mutation::Insert },
        (Resource::Relation(name), "PUT") => {
            Action::Mutate { relation: qualify(name), mutation: Mutation::SingleUpsert }
        }
        (Resource::Relation(name), "PATCH") => Action::Mutate { relation: qualify(name), mutation: Mutation::Update },
        (Resource::Relation(name), "DELETE") => Action::Mutate { relation: qualify(name), mutation: Mutation::Delete },
        (Resource::Relation(name), "OPTIONS") => Action::InspectRelation(qualify(name)),
        (Resource::Schema, "HEAD") => Action::ReadSchema { schema: schema.to_owned(), headers_only: true },
        (Resource::Schema, "GET") => Action::ReadSchema { schema: schema.to_owned(), headers_only: false },
        (Resource::Schema, "OPTIONS") => Action::InspectSchema,
        _ => return Err(Error::unsupported_method(method)),
    })
}

/// The rows of the `Range` header: `first-last` or `first-`; all of them when it reads otherwise.
fn header_range(header: &str) -> RowRange {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let number = |text: &str| text.parse::<i64>().unwrap_or(i64::MAX).min(i64::MAX / 2);
    match header.split_once('-') {
        Some((first, last)) if !first.is_empty() && digits(first) && digits(last) => {
            RowRange { first: number(first), last: (!last.is_empty()).then(|| number(last)) }
        }
        _ => RowRange::ALL,
    }
}

/// The range of the root, and all ranges with it.
fn find_ranges(
    method: &str,
    query: &QueryParams,
    headers: &HeaderMap,
) -> Result<(RowRange, BTreeMap<String, RowRange>), Error> {
    // RFC 9110 §14.2: the header counts for GET alone.
    let header = text(headers, "range").filter(|_| method == "GET");
    let header = header.map_or(RowRange::ALL, |header| header_range(&header));
    let limits = query.ranges.get("limit").copied().unwrap_or(RowRange::ALL);
    let is_limit_zero = limits.last == Some(-1);
    let range = if is_limit_zero { RowRange::NONE } else { header.intersect(limits) };
    if range.is_empty() && !is_limit_zero {
        let error = if header.is_empty() { RangeError::Reversed } else { RangeError::NegativeLimit };
        return Err(Error::invalid_range(error));
    }
    if method == "PUT" && range != RowRange::ALL {
        return Err(Error::put_with_limit());
    }
    let mut ranges = query.ranges.clone();
    ranges.insert("limit".to_owned(), range);
    Ok((range, ranges))
}

/// `name=value` pairs separated by semicolons.
fn parse_cookies(header: &str) -> Vec<(String, String)> {
    header
        .split(';')
        .map(|pair| pair.trim_start().split_once('=').unwrap_or((pair.trim_start(), "")))
        .filter(|(name, value)| !name.is_empty() || !value.is_empty())
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}
