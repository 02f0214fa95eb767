//! The relationship that an embed means.

use super::parts::Context;
use crate::error::Error;
use crate::error::cache::{RelationshipCandidate, suggest_relationship};
use crate::request::QualifiedName;
use crate::schema_cache::{Cardinality, ForeignKey, KeyRelationship, Relationship};

/// The column of a key with one column: of the origin and of the target.
fn single(key: &ForeignKey) -> Option<(&str, &str)> {
    match key.columns.as_slice() {
        [(origin, target)] => Some((origin, target)),
        _ => None,
    }
}

/// The foreign key of a relationship that has one.
fn foreign_key(cardinality: &Cardinality) -> Option<&ForeignKey> {
    match cardinality {
        Cardinality::OneToMany(key) | Cardinality::ManyToOne(key) | Cardinality::OneToOne(key, _) => Some(key),
        Cardinality::ManyToMany(_) => None,
    }
}

/// Whether the relationship is meant by target and hint.
fn is_meant(relationship: &KeyRelationship, target: &str, hint: Option<&str>) -> bool {
    let cardinality = &relationship.cardinality;
    let key = foreign_key(cardinality);
    let names_table = target == relationship.foreign_table.name;
    let has_constraint = |name: &str| key.is_some_and(|key| key.constraint == name);
    let has_own_column = |name: &str| key.and_then(single).is_some_and(|(own, _)| own == name);
    let has_other_column = |name: &str| key.and_then(single).is_some_and(|(_, other)| other == name);
    let is_one_to_many = matches!(cardinality, Cardinality::OneToMany(_));
    match (relationship.is_self, hint) {
        // By the table's name the referencing rows, by the column's name the referenced one.
        (true, None) => {
            names_table && is_one_to_many || has_own_column(target) && matches!(cardinality, Cardinality::ManyToOne(_))
        }
        (true, Some(hint)) => names_table && is_one_to_many && has_other_column(hint),
        (false, None) => {
            names_table || !relationship.foreign_table_is_view && (has_constraint(target) || has_own_column(target))
        }
        (false, Some(hint)) => {
            let is_junction = matches!(cardinality, Cardinality::ManyToMany(junction) if junction.table.name == hint);
            names_table && (has_constraint(hint) || has_own_column(hint) || has_other_column(hint) || is_junction)
        }
    }
}

/// Finds the relationship of an embed.
///
/// # Errors
/// `PGRST200` without one, `PGRST201` with several.
pub(super) fn find(
    context: Context<'_>,
    schema: &str,
    origin: &str,
    target: &str,
    hint: Option<&str>,
) -> Result<Relationship, Error> {
    let all = &context.cache.relationships;
    let key = (QualifiedName { schema: schema.to_owned(), name: origin.to_owned() }, schema.to_owned());
    let of_origin = all.get(&key);
    let meant: Vec<&Relationship> = of_origin
        .into_iter()
        .flatten()
        .filter(|relationship| match relationship {
            Relationship::Computed(relationship) => relationship.function.name == target,
            Relationship::Key(relationship) => is_meant(relationship, target, hint),
        })
        .collect();
    match meant.as_slice() {
        [one] => Ok((*one).clone()),
        [] => {
            let mut parents: Vec<&str> = all
                .keys()
                .filter(|(_, table_schema)| table_schema == schema)
                .map(|(table, _)| table.name.as_str())
                .collect();
            parents.sort_unstable();
            let children: Option<Vec<&str>> = of_origin
                .map(|list| list.iter().map(|relationship| relationship.foreign_table().name.as_str()).collect());
            let suggestion = suggest_relationship(origin, target, parents.into_iter(), children.as_deref());
            Err(Error::no_relationship(origin, target, hint, schema, suggestion))
        }
        several => {
            let candidates: Vec<_> = several.iter().filter_map(|relationship| candidate(relationship)).collect();
            Err(Error::ambiguous_relationship(origin, target, &candidates))
        }
    }
}

/// A relationship as the details of an error describe it.
fn candidate(relationship: &Relationship) -> Option<RelationshipCandidate> {
    let Relationship::Key(by_key) = relationship else { return None };
    let list = |columns: &[(String, String)], second: bool| {
        let names: Vec<&str> = columns.iter().map(|(a, b)| if second { b.as_str() } else { a.as_str() }).collect();
        format!("({})", names.join(", "))
    };
    let of_key = |cardinality, key: &ForeignKey| {
        let (own, other) = (list(&key.columns, false), list(&key.columns, true));
        let text =
            format!("{} using {}{own} and {}{other}", key.constraint, by_key.table.name, by_key.foreign_table.name);
        (cardinality, text, key.constraint.clone())
    };
    let (cardinality, relationship, hint) = match &by_key.cardinality {
        Cardinality::OneToMany(key) => of_key("one-to-many", key),
        Cardinality::ManyToOne(key) => of_key("many-to-one", key),
        Cardinality::OneToOne(key, _) => of_key("one-to-one", key),
        Cardinality::ManyToMany(junction) => {
            let text = format!(
                "{} using {}{} and {}{}",
                junction.table.name,
                junction.source_constraint,
                list(&junction.source_columns, true),
                junction.target_constraint,
                list(&junction.target_columns, true)
            );
            ("many-to-many", text, junction.table.name.clone())
        }
    };
    Some(RelationshipCandidate {
        cardinality,
        origin: by_key.table.name.clone(),
        target: by_key.foreign_table.name.clone(),
        relationship,
        hint,
    })
}
