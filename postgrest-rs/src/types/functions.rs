//! The types of functions: their arguments, and what they return.

use super::Generator;
use super::callable::Callable;
use super::catalog::{ArgumentRow, FunctionRow, Relation};
use super::layout::{Member, Type};
use super::order::compare;

/// The types of an argument without a name that PostgREST calls a function by: `json`, `jsonb`, `text`.
const UNNAMED_TYPES: [u32; 3] = [114, 3802, 25];

/// What the client is told about a call that cannot be resolved.
const ADVICE: &str =
    "Try renaming the parameters or the function itself in the database so function overloading can be resolved";

impl<'a> Generator<'a> {
    /// The functions of a schema that PostgREST can call, by their names.
    pub(super) fn list_functions(&self, schema: &str) -> Vec<Callable<'a>> {
        let of_schema = self.catalog.functions.iter().filter(|function| function.schema == schema);
        let mut found: Vec<Callable<'a>> = of_schema
            .filter_map(|function| {
                let mut arguments = function.arguments();
                arguments.sort_by(|left, right| compare(&left.name, &right.name));
                let inputs: Vec<ArgumentRow> =
                    arguments.iter().filter(|argument| matches!(argument.mode, 'i' | 'b' | 'v')).cloned().collect();
                self.is_callable(&inputs).then_some(Callable { function, arguments, inputs })
            })
            .collect();
        found.sort_by(|left, right| compare(&left.function.name, &right.function.name));
        found
    }

    /// Whether arguments without names are those by which PostgREST calls.
    fn is_callable(&self, inputs: &[ArgumentRow]) -> bool {
        let is_unnamed = |argument: &&ArgumentRow| argument.name.is_empty();
        let is_usual = |argument: &ArgumentRow| UNNAMED_TYPES.contains(&argument.type_oid);
        inputs.iter().filter(is_unnamed).all(|argument| argument.has_default && is_usual(argument))
            || matches!(inputs, [only] if is_usual(only) || self.row_type(only.type_oid).is_some())
    }

    /// The functions as members: those of one name together.
    pub(super) fn function_members(&self, schema: &str) -> Vec<Member> {
        let mut groups: Vec<(&str, Vec<&Callable<'a>>)> = Vec::new();
        for callable in self.functions.get(schema).into_iter().flatten() {
            match groups.iter_mut().find(|(name, _)| *name == callable.function.name) {
                Some((_, group)) => group.push(callable),
                None => groups.push((&callable.function.name, vec![callable])),
            }
        }
        groups
            .into_iter()
            .map(|(name, mut group)| {
                group.sort_by(|left, right| {
                    compare(&left.function.argument_types, &right.function.argument_types)
                        .then_with(|| compare(&left.function.return_type, &right.function.return_type))
                });
                let mut signatures: Vec<Type> = group.iter().map(|overload| self.signature(overload, &group)).collect();
                let value = if signatures.len() == 1 { signatures.remove(0) } else { Type::Union(signatures) };
                Member::new(name, value)
            })
            .collect()
    }

    fn signature(&self, callable: &Callable<'a>, group: &[&Callable<'a>]) -> Type {
        let Callable { function, inputs, .. } = callable;
        let arguments = if inputs.is_empty() {
            Type::name("never")
        } else {
            let member = |argument: &ArgumentRow| {
                Member::optional(
                    argument.name.as_str(),
                    argument.has_default,
                    self.type_of(&function.schema, argument.type_oid),
                )
            };
            Type::inline(inputs.iter().map(member).collect())
        };
        let returned = match self.find_conflict(callable, group).or_else(|| self.find_row_error(callable)) {
            Some(message) => Type::Failure(message),
            None => self.return_type(function),
        };
        let is_single = function.rows <= 1.0 && self.relation_name(function).is_some();
        let returned = if function.returns_set && !is_single { Type::Array(Box::new(returned)) } else { returned };
        let mut members = vec![Member::new("Args", arguments), Member::new("Returns", returned)];
        members.extend(self.set_options(callable).map(|options| Member::new("SetofOptions", options)));
        Type::inline(members)
    }

    /// What a client knows of a result whose columns it may select.
    fn set_options(&self, callable: &Callable<'a>) -> Option<Type> {
        let function = callable.function;
        let target = self.relation_name(function)?;
        let source = match &callable.arguments[..] {
            [only] => self.row_type(only.type_oid),
            _ => None,
        };
        let is_single = (source.is_some() && !function.returns_set) || function.rows <= 1.0;
        let flag = |is_true| Type::name(if is_true { "true" } else { "false" });
        Some(Type::expanded(vec![
            Member::new(
                "from",
                Type::Literal(source.map_or_else(|| "*".to_owned(), |row_type| row_type.format.clone())),
            ),
            Member::new("to", Type::Literal(target.to_owned())),
            Member::new("isOneToOne", flag(is_single)),
            Member::new("isSetofReturn", flag(function.returns_set)),
        ]))
    }

    /// What one row of the result is.
    pub(super) fn return_type(&self, function: &FunctionRow) -> Type {
        let mut columns = function.arguments();
        columns.retain(|argument| argument.mode == 't');
        columns.sort_by(|left, right| compare(&left.name, &right.name));
        if !columns.is_empty() {
            let member = |argument: &ArgumentRow| {
                Member::new(argument.name.as_str(), self.type_of(&function.schema, argument.type_oid))
            };
            return Type::expanded(columns.iter().map(member).collect());
        }
        let relation: Option<&Relation> = function.returned_relation.and_then(|oid| self.relations.get(&oid).copied());
        match relation.filter(|relation| relation.schema == function.schema) {
            Some(relation) => Type::expanded(self.columns(relation)),
            None => self.type_of(&function.schema, function.returned),
        }
    }

    /// Why a function of a row can be selected but not called.
    fn find_row_error(&self, callable: &Callable<'a>) -> Option<String> {
        let Callable { function, inputs, .. } = callable;
        let [only] = &inputs[..] else { return None };
        let is_of_row = only.name.is_empty() && self.row_type(only.type_oid).is_some();
        (is_of_row && self.relation_name(function).is_none()).then(|| {
            format!(
                "the function {}.{} with parameter or with a single unnamed json/jsonb parameter, but no matches were found in \
                 the schema cache",
                function.schema, function.name
            )
        })
    }

    /// Why a call cannot choose among functions of the same name.
    fn find_conflict(&self, callable: &Callable<'a>, group: &[&Callable<'a>]) -> Option<String> {
        let Callable { function, inputs, .. } = callable;
        let name = format!("{}.{}", function.schema, function.name);
        let type_name = |oid: u32| self.types.get(&oid).map_or("unknown", |named| named.name.as_str());
        let others = || group.iter().copied().filter(|other| !std::ptr::eq(*other, callable));
        let candidates = match &inputs[..] {
            [] => {
                let other = others()
                    .find(|other| matches!(&other.inputs[..], [only] if only.name.is_empty() && only.has_default))?;
                format!("{name}(), {name}( => {})", type_name(other.function.returned))
            }
            [only] if !only.name.is_empty() => {
                let same = |other: &&Callable<'a>| matches!(&other.inputs[..], [input] if input.name == only.name && input.type_oid != only.type_oid);
                let mut all: Vec<&ArgumentRow> = others().filter(same).map(|other| &other.inputs[0]).collect();
                if all.is_empty() {
                    return None;
                }
                all.insert(0, only);
                all.sort_by_key(|argument| argument.type_oid);
                let all: Vec<String> = all
                    .iter()
                    .map(|argument| format!("{name}({} => {})", argument.name, type_name(argument.type_oid)))
                    .collect();
                all.join(", ")
            }
            _ => return None,
        };
        Some(format!("Could not choose the best candidate function between: {candidates}. {ADVICE}"))
    }
}
