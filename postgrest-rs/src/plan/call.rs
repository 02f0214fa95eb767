//! Calls of functions.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::mutate;
use super::parts::{Condition, Context};
use super::read::ReadNode;
use crate::error::Error;
use crate::error::cache::{FunctionCall, suggest_function};
use crate::request::media_type::MediaType;
use crate::request::{InvokeMethod, Payload, QualifiedName};
use crate::schema_cache::{Function, Parameter};

/// How a function is called: its parameters, where their values come from, what it returns.
#[derive(Debug, Clone)]
pub struct CallPlan {
    /// The function.
    pub name: QualifiedName,
    /// The parameters that get arguments; one unnamed parameter takes them all.
    pub parameters: Vec<Parameter>,
    /// The single parameter has no name.
    pub is_positional: bool,
    pub arguments: Arguments,
    /// It returns one value.
    pub returns_scalar: bool,
    /// It returns values.
    pub returns_set_of_scalar: bool,
    /// The columns of the result that are read; empty or `*` for all.
    pub returning: Vec<String>,
}

/// The arguments of a call.
#[derive(Debug, Clone)]
pub enum Arguments {
    /// By name, as texts.
    Direct(BTreeMap<String, Argument>),
    /// The members of an object, or the body as a whole.
    Json(Option<Bytes>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// One text.
    One(String),
    /// The elements of a variadic parameter.
    Many(Vec<String>),
}

/// Whether a function with one unnamed parameter takes the body.
fn takes_body(function: &Function, content_type: &MediaType) -> bool {
    let [parameter] = function.parameters.as_slice() else { return false };
    parameter.name.is_empty()
        && matches!(
            (content_type, parameter.data_type.as_str()),
            (MediaType::Json, "json" | "jsonb")
                | (MediaType::Text, "text")
                | (MediaType::Xml, "xml")
                | (MediaType::OctetStream, "bytea")
        )
}

/// Whether the arguments fit the parameters: all required ones, and no others than the optional ones.
fn matches(function: &Function, keys: &BTreeSet<&str>, has_raw_body: bool) -> bool {
    let parameters = &function.parameters;
    if parameters.is_empty() {
        return keys.is_empty() && !has_raw_body;
    }
    let all: BTreeSet<&str> = parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    let mut required = parameters.iter().filter(|parameter| parameter.required);
    required.all(|parameter| keys.contains(parameter.name.as_str())) && keys.is_subset(&all)
}

/// Finds the function that the arguments fit.
///
/// # Errors
/// `PGRST202` without one, `PGRST203` with several.
pub(super) fn find_function<'a>(
    context: Context<'a>,
    name: &QualifiedName,
    method: InvokeMethod,
) -> Result<&'a Function, Error> {
    let request = context.request;
    let is_post = method == InvokeMethod::Post;
    let keys: BTreeSet<&str> = if is_post {
        request.columns.iter().map(String::as_str).collect()
    } else {
        request.query.arguments.iter().map(|(key, _)| key.as_str()).collect()
    };
    let content_type = &request.content_type;
    let has_raw_body = is_post && matches!(content_type, MediaType::Text | MediaType::Xml | MediaType::OctetStream);
    let overloads: &[Function] = context.cache.functions.get(name).map_or(&[], Vec::as_slice);
    let mut found: Vec<&Function> =
        overloads.iter().filter(|overload| matches(overload, &keys, has_raw_body)).collect();
    if found.is_empty() && is_post {
        found = overloads.iter().filter(|overload| takes_body(overload, content_type)).collect();
    }
    match found.as_slice() {
        [one] => Ok(one),
        [] => {
            let arguments: Vec<String> = keys.iter().map(|&key| key.to_owned()).collect();
            let call =
                FunctionCall { schema: &name.schema, name: &name.name, arguments: &arguments, content_type, is_post };
            let mut names: Vec<&str> = context
                .cache
                .functions
                .keys()
                .filter(|function| function.schema == name.schema)
                .map(|function| function.name.as_str())
                .collect();
            names.sort_unstable();
            let parameters: Vec<Vec<String>> = overloads
                .iter()
                .map(|overload| overload.parameters.iter().map(|parameter| parameter.name.clone()).collect())
                .collect();
            Err(Error::function_not_found(&call, suggest_function(&call, names.into_iter(), &parameters)))
        }
        several => {
            let describe = |overload: &&Function| {
                let list: Vec<_> = overload
                    .parameters
                    .iter()
                    .map(|parameter| format!("{} => {}", parameter.name, parameter.data_type))
                    .collect();
                format!("{}.{}({})", overload.schema, overload.name, list.join(", "))
            };
            Err(Error::ambiguous_function(&several.iter().map(describe).collect::<Vec<_>>()))
        }
    }
}

pub(super) fn plan(context: Context<'_>, function: &Function, method: InvokeMethod, read: &ReadNode) -> CallPlan {
    let request = context.request;
    let arguments = if method.is_read() {
        Arguments::Direct(collect(function, &request.query.arguments))
    } else {
        match &request.payload {
            Some(Payload::Form { pairs, .. }) => Arguments::Direct(collect(function, pairs)),
            Some(Payload::Json { raw, .. } | Payload::UnreadJson(raw) | Payload::Raw(raw)) => {
                Arguments::Json(Some(raw.clone()))
            }
            None => Arguments::Json(None),
        }
    };
    let is_given = |name: &str| {
        if method.is_read() {
            request.query.arguments.iter().any(|(key, _)| key == name)
        } else {
            request.columns.contains(name)
        }
    };
    let is_positional = matches!(function.parameters.as_slice(), [one] if one.name.is_empty());
    let parameters =
        function.parameters.iter().filter(|parameter| is_positional || is_given(&parameter.name)).cloned().collect();
    let mut returning = mutate::needed_columns(read, &[]);
    if !returning.is_empty() && returning != ["*"] {
        // Columns that are filtered by must be there too.
        collect_names(read, &mut returning);
    }
    CallPlan {
        name: QualifiedName { schema: function.schema.clone(), name: function.name.clone() },
        parameters,
        is_positional,
        arguments,
        returns_scalar: function.returns_scalar(),
        returns_set_of_scalar: function.returns_set_of_scalar(),
        returning,
    }
}

/// The arguments by name: of a variadic parameter all, of others the last.
fn collect(function: &Function, pairs: &[(String, String)]) -> BTreeMap<String, Argument> {
    let is_variadic =
        |name: &str| function.parameters.iter().any(|parameter| parameter.variadic && parameter.name == name);
    let mut arguments = BTreeMap::new();
    for (key, value) in pairs {
        if !is_variadic(key) {
            arguments.insert(key.clone(), Argument::One(value.clone()));
            continue;
        }
        match arguments.entry(key.clone()).or_insert_with(|| Argument::Many(Vec::new())) {
            Argument::Many(values) => values.push(value.clone()),
            Argument::One(_) => {}
        }
    }
    arguments
}

/// Adds the names of the columns that conditions of the root use.
fn collect_names(node: &ReadNode, names: &mut Vec<String>) {
    fn visit(condition: &Condition, names: &mut Vec<String>) {
        match condition {
            Condition::Group { conditions, .. } => conditions.iter().for_each(|condition| visit(condition, names)),
            Condition::Filter { column, .. } if !names.contains(&column.name) => names.push(column.name.clone()),
            Condition::Filter { .. } | Condition::NullEmbed { .. } => {}
        }
    }
    node.conditions.iter().for_each(|condition| visit(condition, names));
    names.sort();
}
