//! Parts of statements: columns, conditions, orders, ranges.

use super::{Sql, Value, array_literal};
use crate::plan::{ColumnRef, Condition, OrderBy, RelationSelect, SelectField, SpreadField};
use crate::request::QualifiedName;
use crate::request::range::RowRange;
use crate::request::tree::{
    AggregateFunction, FullTextOperator, IsValue, JsonOperand, JsonOperation, LogicOperator, Operation, OrderDirection,
    OrderNulls, QuantifiableOperator, Quantifier, SimpleOperator,
};

/// A name without a schema.
pub(super) fn unqualified(name: &str) -> QualifiedName {
    QualifiedName { schema: String::new(), name: name.to_owned() }
}

impl Sql {
    /// Appends the path into a JSON value.
    fn json_path(&mut self, path: &[JsonOperation]) -> &mut Self {
        for operation in path {
            self.raw(match operation {
                JsonOperation::Arrow(_) => "->",
                JsonOperation::DoubleArrow(_) => "->>",
            });
            match operation.operand() {
                JsonOperand::Key(key) => self.text(key),
                JsonOperand::Index(index) => self.text(index).raw("::int"),
            };
        }
        self
    }

    /// Appends a column with its path and its conversion to `tsvector`.
    pub(super) fn field(&mut self, table: &QualifiedName, column: &ColumnRef) -> &mut Self {
        if let Some(language) = &column.to_tsvector {
            self.raw("to_tsvector(").language(language.as_deref());
        }
        if column.full_row {
            self.name(&table.name);
        } else if column.path.is_empty() {
            self.column(table, &column.name);
        } else if column.to_json {
            self.raw("to_jsonb(").column(table, &column.name).raw(")").json_path(&column.path);
        } else {
            self.column(table, &column.name).json_path(&column.path);
        }
        if column.to_tsvector.is_some() {
            self.raw(")");
        }
        self
    }

    fn language(&mut self, language: Option<&str>) -> &mut Self {
        match language {
            Some(language) => self.text(language).raw(", "),
            None => self,
        }
    }

    /// Appends `agg(…)` and casts around what `append` appends.
    fn aggregated(
        &mut self,
        aggregate: Option<AggregateFunction>,
        cast: Option<&str>,
        append: impl FnOnce(&mut Self),
    ) -> &mut Self {
        let cast = cast.filter(|_| aggregate.is_some());
        if cast.is_some() {
            self.raw("CAST( ");
        }
        match aggregate {
            Some(aggregate) => {
                self.raw(match aggregate {
                    AggregateFunction::Sum => "SUM(",
                    AggregateFunction::Avg => "AVG(",
                    AggregateFunction::Max => "MAX(",
                    AggregateFunction::Min => "MIN(",
                    AggregateFunction::Count => "COUNT(",
                });
                append(self);
                self.raw(")");
            }
            None => append(self),
        }
        if let Some(cast) = cast {
            self.raw(" AS ").cast_type(cast).raw(" )");
        }
        self
    }

    fn alias(&mut self, alias: Option<&str>) -> &mut Self {
        match alias {
            Some(alias) => self.raw(" AS ").name(alias),
            None => self,
        }
    }

    /// Appends a selected column.
    pub(super) fn select_field(&mut self, table: &QualifiedName, field: &SelectField) -> &mut Self {
        self.aggregated(field.aggregate, field.aggregate_cast.as_deref(), |sql| {
            if field.cast.is_some() {
                sql.raw("CAST( ");
            }
            match &field.column.transform {
                Some(function) => sql.raw(function).raw("(").field(table, &field.column).raw(")"),
                None => sql.field(table, &field.column),
            };
            if let Some(cast) = &field.cast {
                sql.raw(" AS ").cast_type(cast).raw(" )");
            }
        })
        .alias(field.alias.as_deref())
    }

    /// Appends a column of a spread embed.
    pub(super) fn spread_field(&mut self, subquery: &str, field: &SpreadField) -> &mut Self {
        self.aggregated(field.aggregate, field.aggregate_cast.as_deref(), |sql| {
            sql.column(&unqualified(subquery), &field.name);
        })
        .alias(field.alias.as_deref())
    }

    /// Appends a condition.
    pub(super) fn condition(&mut self, table: &QualifiedName, condition: &Condition) -> &mut Self {
        self.condition_with(table, condition, &mut |sql, negated, alias| {
            sql.name(alias).raw(if negated { " IS DISTINCT FROM NULL" } else { " IS NOT DISTINCT FROM NULL" });
        })
    }

    /// Appends a condition; `null_embed` appends those on embeds.
    pub(super) fn condition_with(
        &mut self,
        table: &QualifiedName,
        condition: &Condition,
        null_embed: &mut dyn FnMut(&mut Self, bool, &str),
    ) -> &mut Self {
        match condition {
            Condition::Group { negated, operator, conditions } => {
                self.raw(if *negated { "NOT (" } else { "(" });
                let separator = match operator {
                    LogicOperator::And => " AND ",
                    LogicOperator::Or => " OR ",
                };
                self.join(conditions, separator, |sql, condition| {
                    sql.condition_with(table, condition, null_embed);
                })
                .raw(")")
            }
            Condition::NullEmbed { negated, alias } => {
                null_embed(self, *negated, alias);
                self
            }
            Condition::Filter { column, negated, operation } => {
                if *negated {
                    self.raw("NOT ");
                }
                self.field(table, column).operation(column, operation)
            }
        }
    }

    fn operation(&mut self, column: &ColumnRef, operation: &Operation) -> &mut Self {
        match operation {
            Operation::Simple(operator, value) => self.raw(simple_operator(*operator)).converted(column, |sql| {
                sql.text(value);
            }),
            Operation::Quantifiable(operator, quantifier, value) => {
                self.quantified(column, *operator, *quantifier, value)
            }
            Operation::In(values) if values.len() == 1 && values[0].is_empty() => self.raw(" = ANY('{}')"),
            Operation::In(values) => {
                let array = array_literal(values.iter().map(String::as_str));
                self.raw(" = ANY (");
                match &column.transform {
                    Some(function) => {
                        self.raw("(SELECT ").raw(function).raw("(unnest(").text(&array).raw("::text[])))")
                    }
                    None => self.text(&array),
                }
                .raw(")")
            }
            Operation::Is(value) => self.raw(match value {
                IsValue::Null => " IS NULL",
                IsValue::NotNull => " IS NOT NULL",
                IsValue::True => " IS TRUE",
                IsValue::False => " IS FALSE",
                IsValue::Unknown => " IS UNKNOWN",
            }),
            Operation::IsDistinctFrom(value) => self.raw(" IS DISTINCT FROM ").text(value),
            Operation::FullText(operator, language, query) => self
                .raw(match operator {
                    FullTextOperator::Plain => " @@ to_tsquery(",
                    FullTextOperator::PlainTo => " @@ plainto_tsquery(",
                    FullTextOperator::PhraseTo => " @@ phraseto_tsquery(",
                    FullTextOperator::WebSearch => " @@ websearch_to_tsquery(",
                })
                .language(language.as_deref())
                .text(query)
                .raw(")"),
        }
    }

    /// Appends what `append` appends, converted as the column's values are.
    fn converted(&mut self, column: &ColumnRef, append: impl FnOnce(&mut Self)) -> &mut Self {
        if let Some(function) = &column.transform {
            self.raw(function).raw("(");
            append(self);
            return self.raw(")");
        }
        append(self);
        self
    }

    fn quantified(
        &mut self,
        column: &ColumnRef,
        operator: QuantifiableOperator,
        quantifier: Option<Quantifier>,
        value: &str,
    ) -> &mut Self {
        let (symbol, is_pattern) = match operator {
            QuantifiableOperator::Equal => (" = ", false),
            QuantifiableOperator::GreaterThanEqual => (" >= ", false),
            QuantifiableOperator::GreaterThan => (" > ", false),
            QuantifiableOperator::LessThanEqual => (" <= ", false),
            QuantifiableOperator::LessThan => (" < ", false),
            QuantifiableOperator::Like => (" like ", true),
            QuantifiableOperator::ILike => (" ilike ", true),
            QuantifiableOperator::Match => (" ~ ", false),
            QuantifiableOperator::IMatch => (" ~* ", false),
        };
        self.raw(symbol);
        match quantifier {
            Some(Quantifier::Any) => self.raw("ANY("),
            Some(Quantifier::All) => self.raw("ALL("),
            None => self,
        };
        if is_pattern {
            self.text(&value.replace('*', "%"));
        } else {
            self.converted(column, |sql| {
                sql.text(value);
            });
        }
        if quantifier.is_some() { self.raw(")") } else { self }
    }

    /// Appends `ORDER BY`.
    pub(super) fn order(&mut self, table: &QualifiedName, order: &[OrderBy]) -> &mut Self {
        if order.is_empty() {
            return self;
        }
        self.raw(" ORDER BY ").join(order, ", ", |sql, term| {
            match &term.relation {
                Some(alias) => sql.field(&unqualified(alias), &term.column),
                None => sql.field(table, &term.column),
            };
            match term.direction {
                Some(OrderDirection::Ascending) => sql.raw(" ASC"),
                Some(OrderDirection::Descending) => sql.raw(" DESC"),
                None => sql,
            };
            match term.nulls {
                Some(OrderNulls::First) => sql.raw(" NULLS FIRST"),
                Some(OrderNulls::Last) => sql.raw(" NULLS LAST"),
                None => sql,
            };
        })
    }

    /// Appends `LIMIT` and `OFFSET`.
    pub(super) fn range(&mut self, range: RowRange) -> &mut Self {
        if range == RowRange::ALL {
            return self;
        }
        self.raw(" LIMIT ");
        match range.limit() {
            Some(limit) => self.value(Value::Text(limit.to_string())),
            None => self.raw("ALL"),
        }
        .raw(" OFFSET ")
        .value(Value::Text(range.offset().to_string()))
    }

    /// Appends `GROUP BY` with everything that is no aggregate, where there is an aggregate.
    pub(super) fn group(
        &mut self,
        table: &QualifiedName,
        select: &[SelectField],
        embeds: &[RelationSelect],
    ) -> &mut Self {
        let in_embeds = embeds.iter().any(
            |embed| matches!(embed, RelationSelect::Spread { fields, .. } if fields.iter().any(|field| field.aggregate.is_some())),
        );
        if !in_embeds && select.iter().all(|field| field.aggregate.is_none()) {
            return self;
        }
        let mut terms: Vec<Sql> = Vec::new();
        let start = self.values.len();
        let mut term = |append: &dyn Fn(&mut Sql)| {
            let mut part = Sql::default();
            append(&mut part);
            terms.push(part);
        };
        for field in select.iter().filter(|field| field.aggregate.is_none()) {
            match &field.alias {
                Some(alias) => term(&|sql| {
                    sql.name(alias);
                }),
                None => term(&|sql| {
                    sql.field(table, &field.column);
                }),
            }
        }
        for embed in embeds {
            match embed {
                RelationSelect::Embed { name, .. } => term(&|sql| {
                    sql.name(name);
                }),
                RelationSelect::Spread { fields, alias } => {
                    for field in fields.iter().filter(|field| field.aggregate.is_none()) {
                        term(&|sql| {
                            sql.name(alias).raw(".").name(field.alias.as_ref().unwrap_or(&field.name));
                        });
                    }
                }
            }
        }
        debug_assert_eq!(start, self.values.len());
        if terms.is_empty() {
            return self;
        }
        // Terms without an alias have no path, so they hold no values.
        self.raw(" GROUP BY ").join(terms, ", ", |sql, term| {
            sql.raw(&term.text);
        })
    }
}

fn simple_operator(operator: SimpleOperator) -> &'static str {
    match operator {
        SimpleOperator::NotEqual => " <> ",
        SimpleOperator::Contains => " @> ",
        SimpleOperator::Contained => " <@ ",
        SimpleOperator::Overlap => " && ",
        SimpleOperator::StrictlyLeft => " << ",
        SimpleOperator::StrictlyRight => " >> ",
        SimpleOperator::NotExtendsRight => " &< ",
        SimpleOperator::NotExtendsLeft => " &> ",
        SimpleOperator::Adjacent => " -|- ",
    }
}
