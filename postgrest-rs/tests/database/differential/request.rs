//! Random requests, and their form in HTTP.

use http::Method;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value};

use super::model::{Column, Kind, Schema, Table};

/// Numbers stand for columns, tables and values; they are reduced to what exists when they are used.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) table: u8,
    pub(super) action: Action,
}

#[derive(Debug, Clone)]
pub(super) enum Action {
    Read(Read),
    /// New values by column; null where there is none.
    Insert(Vec<(u8, Option<u8>)>),
    Update(Vec<(u8, Option<u8>)>, Vec<Condition>),
    Delete(Vec<Condition>),
}

#[derive(Debug, Clone)]
pub(super) struct Read {
    pub(super) select: Vec<Item>,
    pub(super) conditions: Vec<Condition>,
    pub(super) order: Vec<(u8, u8)>,
    pub(super) limit: Option<u8>,
    pub(super) offset: Option<u8>,
    pub(super) counts: bool,
    pub(super) embeds: Vec<Embed>,
}

#[derive(Debug, Clone)]
pub(super) struct Embed {
    /// The parent first, then the children.
    pub(super) relation: u8,
    pub(super) is_inner: bool,
    pub(super) select: Vec<Item>,
    pub(super) conditions: Vec<Condition>,
    /// Of children only.
    pub(super) limit: Option<u8>,
}

/// A selected column; `form`: as it is, with an alias, as text, or a path into a document.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) column: u8,
    pub(super) form: u8,
}

#[derive(Debug, Clone)]
pub(super) enum Condition {
    Comparison { column: u8, operator: u8, values: Vec<u8>, is_negated: bool },
    Tree { is_any: bool, is_negated: bool, conditions: Vec<Condition> },
}

/// A comparison by a column of a certain type.
#[derive(Debug, Clone)]
pub(super) enum Comparison {
    /// `eq`, `neq`, … and what they are in SQL.
    Operator(&'static str, &'static str, String),
    In(Vec<String>),
    /// A pattern with `%`.
    Like(&'static str, &'static str, String),
    Is(&'static str),
    IsDistinct(String),
    /// `eq(any)`
    Any(Vec<String>),
}

const OPERATORS: [(&str, &str); 6] =
    [("eq", "="), ("neq", "<>"), ("gt", ">"), ("gte", ">="), ("lt", "<"), ("lte", "<=")];

/// The comparison that the numbers of a condition stand for.
pub(super) fn comparison(column: &Column, operator: u8, values: &[u8]) -> Comparison {
    let kind = column.kind;
    let value = |at: usize| kind.value(values[at % values.len()]);
    let at = usize::from(operator / 16);
    match operator % 16 {
        // PostgreSQL has no arrays of arrays, which a list of them would be.
        0 if kind != Kind::Numbers => Comparison::In(values.iter().map(|value| kind.value(*value)).collect()),
        1 => Comparison::Is(if kind == Kind::Truth && at % 2 == 0 {
            ["true", "false", "unknown"][at % 3]
        } else {
            "null"
        }),
        2 => Comparison::IsDistinct(value(0)),
        3 | 4 if kind == Kind::Text => {
            let (name, sql) = [("like", "LIKE"), ("ilike", "ILIKE")][at % 2];
            Comparison::Like(name, sql, ["%a%", "A%", "%_%", "%\\%", "%'%", "%,%"][values.len() % 6].to_owned())
        }
        3 if matches!(kind, Kind::Document | Kind::Numbers) => Comparison::Operator("cs", "@>", value(0)),
        4 if matches!(kind, Kind::Document | Kind::Numbers) => Comparison::Operator("cd", "<@", value(0)),
        5 if kind == Kind::Numbers => Comparison::Operator("ov", "&&", value(0)),
        6 if kind != Kind::Numbers => Comparison::Any(values.iter().map(|value| kind.value(*value)).collect()),
        // A value of another type: the database refuses it.
        7 if at == 3 => Comparison::Operator("eq", "=", "no such value".to_owned()),
        _ => {
            let (name, sql) = OPERATORS[at % OPERATORS.len()];
            Comparison::Operator(name, sql, value(0))
        }
    }
}

/// A name or value in quotation marks of the grammar.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// An element of an array literal.
pub(super) fn array(values: &[String]) -> String {
    format!("{{{}}}", values.iter().map(|value| quoted(value)).collect::<Vec<_>>().join(","))
}

fn encode(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

impl Comparison {
    /// The operation in a URL; in a tree values are quoted.
    fn to_url(&self, in_tree: bool) -> String {
        let value = |text: &str| if in_tree { quoted(text) } else { text.to_owned() };
        match self {
            Self::Operator(name, _, text) => format!("{name}.{}", value(text)),
            Self::In(texts) => format!("in.({})", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(",")),
            Self::Like(name, _, pattern) => format!("{name}.{}", value(&pattern.replace('%', "*"))),
            Self::Is(word) => format!("is.{word}"),
            Self::IsDistinct(text) => format!("isdistinct.{}", value(text)),
            Self::Any(texts) => format!("eq(any).{}", value(&array(texts))),
        }
    }
}

impl Condition {
    /// As a parameter below the path of an embed.
    fn to_parameter(&self, table: &Table, path: &str) -> String {
        match self {
            Self::Comparison { column, operator, values, is_negated } => {
                let column = table.column(*column);
                let not = if *is_negated { "not." } else { "" };
                let operation = comparison(&column, *operator, values).to_url(false);
                format!(
                    "{}={}",
                    encode(&format!("{path}{}", quoted(&column.name))),
                    encode(&format!("{not}{operation}"))
                )
            }
            Self::Tree { is_any, is_negated, conditions } => {
                let not = if *is_negated { "not." } else { "" };
                let operator = if *is_any { "or" } else { "and" };
                let inner: Vec<_> = conditions.iter().map(|inner| inner.to_member(table)).collect();
                format!("{}={}", encode(&format!("{path}{not}{operator}")), encode(&format!("({})", inner.join(","))))
            }
        }
    }

    /// As a member of a tree.
    fn to_member(&self, table: &Table) -> String {
        match self {
            Self::Comparison { column, operator, values, is_negated } => {
                let column = table.column(*column);
                let not = if *is_negated { "not." } else { "" };
                format!("{}.{not}{}", quoted(&column.name), comparison(&column, *operator, values).to_url(true))
            }
            Self::Tree { is_any, is_negated, conditions } => {
                let not = if *is_negated { "not." } else { "" };
                let operator = if *is_any { "or" } else { "and" };
                let inner: Vec<_> = conditions.iter().map(|inner| inner.to_member(table)).collect();
                format!("{not}{operator}({})", inner.join(","))
            }
        }
    }
}

impl Item {
    /// The path into a document, if it is one: the keys, and whether the last one is read as text.
    pub(super) fn path(&self, column: &Column) -> Option<(Vec<&'static str>, bool)> {
        if column.kind != Kind::Document || self.form < 128 {
            return None;
        }
        let paths = [vec!["a"], vec!["a", "b"], vec!["c", "1", "d"], vec!["0"], vec!["c", "-1"]];
        Some((paths[usize::from(self.form / 2) % paths.len()].clone(), self.form.is_multiple_of(2)))
    }

    /// The alias: there is one where the same name would be there twice.
    pub(super) fn alias(&self, at: usize) -> String {
        let forms = ["x{}", "al\"ias{}", "a b{}", "ö.{}"];
        forms[usize::from(self.form) % forms.len()].replace("{}", &at.to_string())
    }

    pub(super) fn is_text(&self) -> bool {
        self.form.is_multiple_of(3)
    }

    fn to_url(&self, table: &Table, at: usize) -> String {
        let column = table.column(self.column);
        let mut field = quoted(&column.name);
        if let Some((keys, as_text)) = self.path(&column) {
            for (index, key) in keys.iter().enumerate() {
                let arrow = if as_text && index + 1 == keys.len() { "->>" } else { "->" };
                field.push_str(arrow);
                field.push_str(key);
            }
        }
        let cast = if self.is_text() { "::text" } else { "" };
        format!("{}:{field}{cast}", quoted(&self.alias(at)))
    }
}

impl Read {
    fn parameters(&self, schema: &Schema, table: usize) -> Vec<String> {
        let of = &schema.tables[table];
        let mut select: Vec<_> = self.select.iter().enumerate().map(|(at, item)| item.to_url(of, at)).collect();
        let mut parameters = Vec::new();
        for (at, embed, relation, is_parent) in self.related(schema, table) {
            let target = &schema.tables[relation];
            let inner = if embed.is_inner { "!inner" } else { "" };
            let items: Vec<_> = embed.select.iter().enumerate().map(|(at, item)| item.to_url(target, at)).collect();
            // An index at the end of an embed is none to PostgREST, so a column is there.
            select.push(format!("e{at}:{}{inner}({},last:id)", quoted(&target.name), items.join(",")));
            let path = format!("e{at}.");
            parameters.extend(embed.conditions.iter().map(|condition| condition.to_parameter(target, &path)));
            if !is_parent {
                parameters.push(format!("e{at}.order=id"));
                parameters.extend(embed.limit.map(|limit| format!("e{at}.limit={}", limit % 4 + 1)));
            }
        }
        parameters.push(format!("select={}", encode(&select.join(","))));
        parameters.extend(self.conditions.iter().map(|condition| condition.to_parameter(of, "")));
        let mut order: Vec<_> =
            self.order(of).map(|(column, suffix, _)| format!("{}{suffix}", quoted(&column.name))).collect();
        order.push("id".to_owned());
        parameters.push(format!("order={}", encode(&order.join(","))));
        parameters.extend(self.limit().map(|limit| format!("limit={limit}")));
        parameters.extend(self.offset().map(|offset| format!("offset={offset}")));
        parameters
    }

    /// Offsets that are larger than the total are refused where rows are counted.
    pub(super) fn offset(&self) -> Option<u8> {
        self.offset.filter(|_| !self.counts).map(|offset| offset % 5)
    }

    /// A limit of 0 is refused with an offset, as by `PostgREST`.
    pub(super) fn limit(&self) -> Option<u8> {
        self.limit.map(|limit| limit % 6).filter(|limit| *limit > 0 || self.offset().is_none())
    }

    /// The columns of the order, with what follows them in the URL and in SQL.
    pub(super) fn order<'a>(
        &'a self,
        table: &'a Table,
    ) -> impl Iterator<Item = (Column, &'static str, &'static str)> + 'a {
        let forms = [
            ("", ""),
            (".asc", " ASC"),
            (".desc", " DESC"),
            (".nullsfirst", " NULLS FIRST"),
            (".desc.nullslast", " DESC NULLS LAST"),
            (".asc.nullslast", " ASC NULLS LAST"),
        ];
        self.order.iter().map(move |(column, form)| {
            let (url, sql) = forms[usize::from(*form) % forms.len()];
            (table.column(*column), url, sql)
        })
    }

    /// The embeds that the schema allows: their place, themselves, their table, and whether it is the parent.
    pub(super) fn related(&self, schema: &Schema, table: usize) -> Vec<(usize, &Embed, usize, bool)> {
        let parent = schema.tables[table].parent;
        let relations: Vec<_> = parent.into_iter().chain(schema.children(table)).collect();
        let embeds = self.embeds.iter().enumerate().filter(|_| !relations.is_empty());
        embeds
            .map(|(at, embed)| {
                let relation = usize::from(embed.relation) % relations.len();
                (at, embed, relations[relation], relation == 0 && parent.is_some())
            })
            .collect()
    }
}

/// New values by column, each column once.
pub(super) fn assignments(table: &Table, values: &[(u8, Option<u8>)]) -> Map<String, Value> {
    let mut object = Map::new();
    for (column, value) in values {
        let column = table.columns[usize::from(*column) % table.columns.len()].clone();
        let value = value.map_or(Value::Null, |value| {
            let text = column.kind.value(value);
            match column.kind {
                Kind::Text | Kind::Day | Kind::Numbers => Value::String(text),
                _ => serde_json::from_str(&text).unwrap(),
            }
        });
        object.insert(column.name, value);
    }
    object
}

impl Step {
    /// Nothing that a step writes stays.
    pub(super) fn preferences(&self) -> &'static str {
        match &self.action {
            Action::Read(Read { counts: true, .. }) => "count=exact",
            Action::Read(_) => "handling=lenient",
            _ => "return=representation, tx=rollback",
        }
    }

    pub(super) fn to_http(&self, schema: &Schema) -> (Method, String, String) {
        let table = schema.table(self.table);
        let of = &schema.tables[table];
        let conditions = |conditions: &[Condition]| -> Vec<String> {
            conditions.iter().map(|condition| condition.to_parameter(of, "")).collect()
        };
        let (method, parameters, body) = match &self.action {
            Action::Read(read) => (Method::GET, read.parameters(schema, table), String::new()),
            Action::Insert(values) => {
                let mut object = assignments(of, values);
                object.insert("id".to_owned(), 1000.into());
                (Method::POST, Vec::new(), Value::Object(object).to_string())
            }
            Action::Update(values, filters) => {
                (Method::PATCH, conditions(filters), Value::Object(assignments(of, values)).to_string())
            }
            Action::Delete(filters) => (Method::DELETE, conditions(filters), String::new()),
        };
        let query = if parameters.is_empty() { String::new() } else { format!("?{}", parameters.join("&")) };
        (method, format!("/{}{query}", encode(&of.name)), body)
    }
}

fn condition() -> impl Strategy<Value = Condition> {
    let leaf = (any::<u8>(), any::<u8>(), vec(any::<u8>(), 1..4), any::<bool>()).prop_map(
        |(column, operator, values, is_negated)| Condition::Comparison { column, operator, values, is_negated },
    );
    leaf.prop_recursive(3, 12, 3, |inner| {
        (any::<bool>(), any::<bool>(), vec(inner, 1..4)).prop_map(|(is_any, is_negated, conditions)| Condition::Tree {
            is_any,
            is_negated,
            conditions,
        })
    })
}

fn items() -> impl Strategy<Value = Vec<Item>> {
    vec((any::<u8>(), any::<u8>()).prop_map(|(column, form)| Item { column, form }), 1..5)
}

fn embed() -> impl Strategy<Value = Embed> {
    let limit = proptest::option::of(any::<u8>());
    (any::<u8>(), any::<bool>(), items(), vec(condition(), 0..2), limit).prop_map(
        |(relation, is_inner, select, conditions, limit)| Embed { relation, is_inner, select, conditions, limit },
    )
}

fn read() -> impl Strategy<Value = Read> {
    let number = || proptest::option::of(any::<u8>());
    let order = vec((any::<u8>(), any::<u8>()), 0..3);
    let parts = (items(), vec(condition(), 0..3), order, number(), number(), any::<bool>(), vec(embed(), 0..3));
    parts.prop_map(|(select, conditions, order, limit, offset, counts, embeds)| Read {
        select,
        conditions,
        order,
        limit,
        offset,
        counts,
        embeds,
    })
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    let values = || vec((any::<u8>(), proptest::option::weighted(0.8, any::<u8>())), 1..4);
    let action = prop_oneof![
        6 => read().prop_map(Action::Read),
        1 => values().prop_map(Action::Insert),
        1 => (values(), vec(condition(), 0..3)).prop_map(|(values, conditions)| Action::Update(values, conditions)),
        1 => vec(condition(), 0..3).prop_map(Action::Delete),
    ];
    (any::<u8>(), action).prop_map(|(table, action)| Step { table, action })
}
