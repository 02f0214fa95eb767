//! Errors of the comparison with the schema cache: `PGRST2xx`.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::Error;
use super::fuzzy::{FuzzySet, MAXIMUM_NAME};
use crate::request::media_type::MediaType;

/// The lowest similarity of a table or function that a hint may name.
const NAME_SCORE: f64 = 0.75;

/// The lowest similarity of parameters or relations that a hint may name.
const DEFAULT_SCORE: f64 = 0.33;

/// The most characters of a name in a text. Names of PostgreSQL have at most 63 bytes.
const MAXIMUM_SHOWN: usize = 200;

/// The most characters of the names of all arguments in a text. A function has at most 100.
const MAXIMUM_LIST: usize = 100 * 65;

/// The beginning of a text that is longer than this number of characters.
fn shorten(text: &str, maximum: usize) -> Cow<'_, str> {
    match text.char_indices().nth(maximum) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// The names of arguments, separated by commas.
fn list_arguments(names: &[String]) -> String {
    // Each name has a separator of two characters: further ones are not shown.
    let names: Vec<_> = names.iter().take(MAXIMUM_LIST).map(|name| shorten(name, MAXIMUM_SHOWN)).collect();
    shorten(&names.join(", "), MAXIMUM_LIST).into_owned()
}

/// A relationship that an ambiguous embed may mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelationshipCandidate {
    /// `many-to-one`, `one-to-many`, `one-to-one` or `many-to-many`.
    pub cardinality: &'static str,
    /// The name of the origin.
    pub origin: String,
    /// The name of the target.
    pub target: String,
    /// `constraint using origin(a) and target(b)`; for many-to-many `junction using fk1(a) and fk2(b)`.
    pub relationship: String,
    /// The constraint or the junction, which as a hint tells this candidate from the others.
    pub hint: String,
}

/// The call of a function that was not found.
#[derive(Debug, Clone, Copy)]
pub struct FunctionCall<'a> {
    pub schema: &'a str,
    /// The function.
    pub name: &'a str,
    /// The names of the arguments, sorted.
    pub arguments: &'a [String],
    /// The type of the body.
    pub content_type: &'a MediaType,
    /// Whether the method is POST.
    pub is_post: bool,
}

impl FunctionCall<'_> {
    /// Whether the body can only be a single unnamed parameter.
    fn has_unnamed_body(&self) -> bool {
        self.is_post && matches!(self.content_type, MediaType::Text | MediaType::Xml | MediaType::OctetStream)
    }
}

impl Error {
    /// Whether the schema cache lacks what the request names: a table, a column, a function or a relationship.
    pub fn is_missing_object(&self) -> bool {
        matches!(&*self.code, "PGRST200" | "PGRST202" | "PGRST204" | "PGRST205")
    }

    /// No relationship between two relations.
    pub fn no_relationship(
        parent: &str,
        child: &str,
        hint: Option<&str>,
        schema: &str,
        suggestion: Option<String>,
    ) -> Self {
        let (parent, child) = (shorten(parent, MAXIMUM_SHOWN), shorten(child, MAXIMUM_SHOWN));
        let hint = hint.map(|hint| shorten(hint, MAXIMUM_SHOWN));
        let using = hint.map(|hint| format!("' using the hint '{hint}")).unwrap_or_default();
        let mut error = Self::new(
            400,
            "PGRST200",
            format!("Could not find a relationship between '{parent}' and '{child}' in the schema cache"),
        )
        .with_details(format!(
            "Searched for a foreign key relationship between '{parent}' and '{child}{using}' in the schema '{schema}', but no matches were found."
        ));
        error.hint = suggestion;
        error
    }

    /// Several relationships between two relations.
    pub fn ambiguous_relationship(parent: &str, child: &str, candidates: &[RelationshipCandidate]) -> Self {
        let details = candidates.iter().map(|candidate| {
            json!({
                "cardinality": candidate.cardinality,
                "embedding": format!("{} with {}", candidate.origin, candidate.target),
                "relationship": candidate.relationship,
            })
        });
        let details = Value::Array(details.collect());
        let alternatives: Vec<_> =
            candidates.iter().map(|candidate| format!("'{}!{}'", candidate.target, candidate.hint)).collect();
        let mut error = Self::new(
            300,
            "PGRST201",
            format!("Could not embed because more than one relationship was found for '{parent}' and '{child}'"),
        )
        .with_hint(format!(
            "Try changing '{child}' to one of the following: {}. Find the desired relationship in the 'details' key.",
            alternatives.join(", ")
        ));
        error.details = Some(details);
        error
    }

    /// No function with these parameters.
    pub fn function_not_found(call: &FunctionCall<'_>, suggestion: Option<String>) -> Self {
        let function = format!("{}.{}", call.schema, shorten(call.name, MAXIMUM_SHOWN));
        let list = list_arguments(call.arguments);
        let described = match (call.arguments.len(), call.has_unnamed_body()) {
            (_, true) => String::new(),
            (0, _) => " without parameters".to_owned(),
            _ => format!("({list})"),
        };
        let named = match call.arguments.len() {
            0 => " without parameters".to_owned(),
            1 => format!(" with parameter {list}"),
            _ => format!(" with parameters {list}"),
        };
        let searched = match (call.is_post, call.content_type) {
            (true, MediaType::Text) => " with a single unnamed text parameter".to_owned(),
            (true, MediaType::Xml) => " with a single unnamed xml parameter".to_owned(),
            (true, MediaType::OctetStream) => " with a single unnamed bytea parameter".to_owned(),
            (true, MediaType::Json) => format!("{named} or with a single unnamed json/jsonb parameter"),
            _ => named,
        };
        let mut error = Self::new(
            404,
            "PGRST202",
            format!("Could not find the function {function}{described} in the schema cache"),
        )
        .with_details(format!(
            "Searched for the function {function}{searched}, but no matches were found in the schema cache."
        ));
        error.hint = suggestion.filter(|_| !call.has_unnamed_body());
        error
    }

    /// Several functions with these parameters, each as `schema.name(parameter => type, …)`.
    pub fn ambiguous_function(candidates: &[String]) -> Self {
        Self::new(
            300,
            "PGRST203",
            format!("Could not choose the best candidate function between: {}", candidates.join(", ")),
        )
        .with_hint(
            "Try renaming the parameters or the function itself in the database so function overloading can be resolved",
        )
    }

    /// No such column.
    pub fn column_not_found(table: &str, column: &str) -> Self {
        let column = shorten(column, MAXIMUM_SHOWN);
        Self::new(400, "PGRST204", format!("Could not find the '{column}' column of '{table}' in the schema cache"))
    }

    /// No such table or view.
    pub fn table_not_found(schema: &str, table: &str, suggestion: Option<String>) -> Self {
        let table = shorten(table, MAXIMUM_SHOWN);
        let mut error =
            Self::new(404, "PGRST205", format!("Could not find the table '{schema}.{table}' in the schema cache"));
        error.hint = suggestion;
        error
    }

    /// The schema cache was never loaded.
    pub fn no_schema_cache() -> Self {
        Self::new(503, "PGRST002", "Could not query the database for the schema cache. Retrying.")
    }
}

/// The hint of [`Error::no_relationship`]. `parents` are the relations of the schema that have relationships; `children` are the
/// targets of the parent's relationships, `None` when the parent has none.
pub fn suggest_relationship<'a>(
    parent: &str,
    child: &str,
    parents: impl Iterator<Item = &'a str>,
    children: Option<&[&str]>,
) -> Option<String> {
    let (wrong, right) = if let Some(children) = children {
        let set = FuzzySet::new(children.iter().copied());
        let matches = set.find(child, DEFAULT_SCORE);
        // A target that is found exactly means that the hint is wrong.
        (child, matches.into_iter().find(|(score, _)| *score < 1.0)?.1.to_owned())
    } else {
        (parent, FuzzySet::new(parents).find_best(parent, DEFAULT_SCORE)?)
    };
    let wrong = shorten(wrong, MAXIMUM_SHOWN);
    Some(format!("Perhaps you meant '{right}' instead of '{wrong}'."))
}

/// The hint of [`Error::function_not_found`]. `functions` are the names of the schema's functions, `overloads` the parameter
/// names of the functions with this name.
pub fn suggest_function<'a>(
    call: &FunctionCall<'_>,
    functions: impl Iterator<Item = &'a str>,
    overloads: &[Vec<String>],
) -> Option<String> {
    let list = |names: &[String]| {
        let mut names = names.to_vec();
        names.sort();
        format!("({})", names.join(", "))
    };
    let length = call.arguments.iter().fold(call.name.len(), |sum, name| sum + name.len());
    if length > MAXIMUM_NAME {
        return None;
    }
    let best = if overloads.is_empty() {
        FuzzySet::new(functions).find_best(call.name, NAME_SCORE)?
    } else {
        let lists: Vec<_> = overloads.iter().map(|names| list(names)).collect();
        let best = FuzzySet::new(lists.iter().map(String::as_str)).find_best(&list(call.arguments), DEFAULT_SCORE)?;
        format!("{}{best}", call.name)
    };
    Some(format!("Perhaps you meant to call the function {}.{best}", call.schema))
}

/// The hint of [`Error::table_not_found`], from the set of the schema's tables and views.
pub fn suggest_table(schema: &str, table: &str, tables: &FuzzySet) -> Option<String> {
    let best = tables.find_best(table, NAME_SCORE)?;
    Some(format!("Perhaps you meant the table '{schema}.{best}'"))
}
