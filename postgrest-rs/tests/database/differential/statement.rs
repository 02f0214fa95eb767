//! The statements that requests stand for.

use super::model::{Schema, Table, identifier, literal};
use super::request::{Action, Comparison, Condition, Embed, Item, Read, Step, array, assignments, comparison};

pub(super) struct Expected {
    /// One row with the answer as JSON text.
    pub(super) rows: String,
    /// The number of rows without limit and offset.
    pub(super) total: Option<String>,
}

fn compare(field: &str, comparison: &Comparison) -> String {
    match comparison {
        Comparison::Operator(_, operator, value) => format!("{field} {operator} {}", literal(value)),
        Comparison::In(values) => {
            format!("{field} IN ({})", values.iter().map(|value| literal(value)).collect::<Vec<_>>().join(", "))
        }
        Comparison::Like(_, operator, pattern) => format!("{field} {operator} {}", literal(pattern)),
        Comparison::Is(word) => format!("{field} IS {word}"),
        Comparison::IsDistinct(value) => format!("{field} IS DISTINCT FROM {}", literal(value)),
        Comparison::Any(values) => format!("{field} = ANY ({})", literal(&array(values))),
    }
}

fn condition(table: &Table, name: &str, of: &Condition) -> String {
    match of {
        Condition::Comparison { column, operator, values, is_negated } => {
            let column = table.column(*column);
            let compared =
                compare(&format!("{name}.{}", identifier(&column.name)), &comparison(&column, *operator, values));
            if *is_negated { format!("(NOT ({compared}))") } else { format!("({compared})") }
        }
        Condition::Tree { is_any, is_negated, conditions } => {
            let inner: Vec<_> = conditions.iter().map(|inner| condition(table, name, inner)).collect();
            let joined = inner.join(if *is_any { " OR " } else { " AND " });
            if *is_negated { format!("(NOT ({joined}))") } else { format!("({joined})") }
        }
    }
}

fn conditions(table: &Table, name: &str, of: &[Condition]) -> String {
    let all: Vec<_> = of.iter().map(|term| condition(table, name, term)).collect();
    if all.is_empty() { "true".to_owned() } else { all.join(" AND ") }
}

fn items(table: &Table, name: &str, of: &[Item]) -> String {
    let all = of.iter().enumerate().map(|(at, item)| {
        let column = table.column(item.column);
        let mut field = format!("{name}.{}", identifier(&column.name));
        if let Some((keys, as_text)) = item.path(&column) {
            for (index, key) in keys.iter().enumerate() {
                let arrow = if as_text && index + 1 == keys.len() { "->>" } else { "->" };
                let is_index = key.parse::<i32>().is_ok();
                field = format!("({field}{arrow}{})", if is_index { (*key).to_owned() } else { literal(key) });
            }
        }
        let cast = if item.is_text() { "::text" } else { "" };
        format!("{field}{cast} AS {}", identifier(&item.alias(at)))
    });
    all.collect::<Vec<_>>().join(", ")
}

/// The subquery of an embed: its rows.
fn embedded(schema: &Schema, embed: &Embed, relation: usize, is_parent: bool) -> String {
    let target = &schema.tables[relation];
    let joined = if is_parent { "e.id = t.ref" } else { "e.ref = t.id" };
    let limit = embed.limit.filter(|_| !is_parent).map(|limit| format!(" LIMIT {}", limit % 4 + 1)).unwrap_or_default();
    format!(
        "SELECT {}, e.id AS last FROM {} e WHERE {joined} AND {} ORDER BY e.id{limit}",
        items(target, "e", &embed.select),
        identifier(&target.name),
        conditions(target, "e", &embed.conditions)
    )
}

fn read(schema: &Schema, table: usize, read: &Read) -> Expected {
    let of = &schema.tables[table];
    let mut select = items(of, "t", &read.select);
    let mut filter = conditions(of, "t", &read.conditions);
    for (at, embed, relation, is_parent) in read.related(schema, table) {
        let rows = embedded(schema, embed, relation, is_parent);
        let value = if is_parent {
            format!("(SELECT row_to_json(q) FROM ({rows}) q)")
        } else {
            format!("(SELECT coalesce(json_agg(row_to_json(q)), '[]') FROM ({rows}) q)")
        };
        select = format!("{select}, {value} AS e{at}");
        if embed.is_inner {
            filter = format!("{filter} AND EXISTS ({rows})");
        }
    }
    let mut order: Vec<_> =
        read.order(of).map(|(column, _, suffix)| format!("t.{}{suffix}", identifier(&column.name))).collect();
    order.push("t.id".to_owned());
    let limit = read.limit().map(|limit| format!(" LIMIT {limit}")).unwrap_or_default();
    let offset = read.offset().map(|offset| format!(" OFFSET {offset}")).unwrap_or_default();
    let from = format!("FROM {} t WHERE {filter}", identifier(&of.name));
    let rows = format!("SELECT {select} {from} ORDER BY {}{limit}{offset}", order.join(", "));
    Expected {
        rows: format!("SELECT coalesce(json_agg(row_to_json(q)), '[]')::text FROM ({rows}) q"),
        total: read.counts.then(|| format!("SELECT count(*) {from}")),
    }
}

/// The statement of a step.
pub(super) fn expect(schema: &Schema, step: &Step) -> Expected {
    let table = schema.table(step.table);
    let of = &schema.tables[table];
    let name = identifier(&of.name);
    let written = |statement: String| Expected {
        rows: format!(
            "WITH t AS ({statement} RETURNING *) SELECT coalesce(json_agg(row_to_json(t)), '[]')::text FROM t"
        ),
        total: None,
    };
    match &step.action {
        Action::Read(of) => read(schema, table, of),
        Action::Insert(values) => {
            let mut object = assignments(of, values);
            object.insert("id".to_owned(), 1000.into());
            let columns: Vec<_> = object.keys().map(|name| identifier(name)).collect();
            let columns = columns.join(", ");
            let body = literal(&serde_json::Value::Object(object).to_string());
            written(format!(
                "INSERT INTO {name} ({columns}) SELECT {columns} FROM json_populate_record(null::{name}, {body})"
            ))
        }
        Action::Update(values, filters) => {
            let object = assignments(of, values);
            let set: Vec<_> = object.keys().map(|name| format!("{0} = b.{0}", identifier(name))).collect();
            let body = literal(&serde_json::Value::Object(object).to_string());
            let filter = conditions(of, "u", filters);
            let set = set.join(", ");
            let from = format!("json_populate_record(null::{name}, {body}) b");
            Expected {
                rows: format!(
                    "WITH t AS (UPDATE {name} u SET {set} FROM {from} WHERE {filter} RETURNING u.*)
                    SELECT coalesce(json_agg(row_to_json(t)), '[]')::text FROM t"
                ),
                total: None,
            }
        }
        Action::Delete(filters) => written(format!("DELETE FROM {name} u WHERE {}", conditions(of, "u", filters))),
    }
}
