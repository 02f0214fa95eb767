//! Relationships: those of foreign keys, of views over them, their inverses and those through junctions.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::node_tree::Origin;
use super::{Cardinality, ComputedRelationship, ForeignKey, Junction, KeyRelationship, Relationship};
use crate::request::QualifiedName;

/// A key constraint: primary, or one side of a foreign one.
#[derive(Debug, Clone)]
pub(crate) struct KeyColumns {
    /// The OID of the relation.
    pub table: u32,
    pub table_name: QualifiedName,
    pub constraint: String,
    pub kind: KeyKind,
    /// Numbers and names of the columns, in the order of the key.
    pub columns: Vec<(i32, String)>,
}

/// Which side of which constraint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum KeyKind {
    Primary,
    Referencing,
    Referenced,
}

/// A view and where its columns come from.
#[derive(Debug, Clone)]
pub(crate) struct View {
    pub oid: u32,
    pub name: QualifiedName,
    pub is_exposed: bool,
    /// The names of its columns by number.
    pub columns: HashMap<i32, String>,
    pub origins: Vec<Origin>,
}

/// A key whose columns are all in a view; a column may be there under several names.
#[derive(Debug, Clone)]
pub(crate) struct ViewKey {
    pub table: QualifiedName,
    pub view: QualifiedName,
    pub constraint: String,
    pub kind: KeyKind,
    pub columns: Vec<(String, Vec<String>)>,
}

/// The deepest nesting of views that is followed.
const MAXIMUM_VIEW_DEPTH: usize = 64;

/// The columns of tables behind a view's columns, through views of views.
fn trace(view: &View, views: &HashMap<u32, &View>) -> Vec<(u32, i32, i32)> {
    let mut found = Vec::new();
    let mut pending: Vec<(Origin, Vec<u32>)> =
        view.origins.iter().rev().map(|origin| (*origin, vec![origin.table])).collect();
    while let Some((origin, path)) = pending.pop() {
        found.push((origin.table, origin.table_column, origin.column));
        let Some(inner) = views.get(&origin.table).filter(|_| path.len() < MAXIMUM_VIEW_DEPTH) else { continue };
        for next in inner.origins.iter().filter(|source| source.column == origin.table_column) {
            if !path.contains(&next.table) {
                let mut path = path.clone();
                path.push(next.table);
                pending.push((Origin { column: origin.column, ..*next }, path));
            }
        }
    }
    found
}

/// The keys that survive in the exposed views.
pub(crate) fn find_view_keys(views: &[View], keys: &[KeyColumns]) -> Vec<ViewKey> {
    let by_oid: HashMap<u32, &View> = views.iter().map(|view| (view.oid, view)).collect();
    let mut keys_of: HashMap<u32, Vec<&KeyColumns>> = HashMap::new();
    for key in keys {
        keys_of.entry(key.table).or_default().push(key);
    }
    let mut found = Vec::new();
    for view in views.iter().filter(|view| view.is_exposed) {
        let mut names: HashMap<(u32, i32), Vec<(i32, String)>> = HashMap::new();
        let mut tables = BTreeSet::new();
        for (table, column, view_column) in trace(view, &by_oid) {
            if let Some(name) = view.columns.get(&view_column) {
                names.entry((table, column)).or_default().push((view_column, name.clone()));
                tables.insert(table);
            }
        }
        for list in names.values_mut() {
            list.sort();
        }
        for key in tables.iter().flat_map(|table| keys_of.get(table).into_iter().flatten()) {
            let columns: Option<Vec<_>> = key
                .columns
                .iter()
                .map(|(number, name)| {
                    let list = names.get(&(key.table, *number))?;
                    Some((name.clone(), list.iter().map(|(_, name)| name.clone()).collect()))
                })
                .collect();
            if let Some(columns) = columns {
                let (table, constraint, kind) = (key.table_name.clone(), key.constraint.clone(), key.kind);
                found.push(ViewKey { table, view: view.name.clone(), constraint, kind, columns });
            }
        }
    }
    found
}

/// The primary keys of views: of a column that is there twice the first.
pub(super) fn view_primary_keys(keys: &[ViewKey]) -> HashMap<QualifiedName, Vec<String>> {
    let mut primary: HashMap<QualifiedName, Vec<String>> = HashMap::new();
    for key in keys.iter().filter(|key| key.kind == KeyKind::Primary) {
        let columns = key.columns.iter().filter_map(|(_, names)| names.first().cloned());
        primary.entry(key.view.clone()).or_default().extend(columns);
    }
    primary
}

/// Every choice of one name for each column.
pub(crate) fn choices(columns: &[(String, Vec<String>)]) -> Vec<Vec<String>> {
    columns.iter().fold(vec![Vec::new()], |all, (_, names)| {
        all.into_iter()
            .flat_map(|chosen: Vec<String>| {
                names.iter().map(move |name| chosen.iter().cloned().chain([name.clone()]).collect())
            })
            .collect()
    })
}

/// The relationships of foreign keys, lifted to views over either side.
fn lift_to_views(references: &[KeyRelationship], keys: &[ViewKey]) -> Vec<KeyRelationship> {
    let mut index: HashMap<(&QualifiedName, &str, KeyKind), Vec<&ViewKey>> = HashMap::new();
    for key in keys {
        index.entry((&key.table, &key.constraint, key.kind)).or_default().push(key);
    }
    let mut lifted = Vec::new();
    for reference in references {
        let (key, rebuild): (&ForeignKey, fn(ForeignKey) -> Cardinality) = match &reference.cardinality {
            Cardinality::ManyToOne(key) => (key, Cardinality::ManyToOne),
            Cardinality::OneToOne(key, false) => (key, |key| Cardinality::OneToOne(key, false)),
            _ => continue,
        };
        let find = |table, kind| index.get(&(table, key.constraint.as_str(), kind)).map_or(&[][..], Vec::as_slice);
        let sources = find(&reference.table, KeyKind::Referencing);
        let targets = find(&reference.foreign_table, KeyKind::Referenced);
        let of_table: Vec<String> = key.columns.iter().map(|(column, _)| column.clone()).collect();
        let of_foreign: Vec<String> = key.columns.iter().map(|(_, column)| column.clone()).collect();
        let build =
            |table: &QualifiedName, foreign: &QualifiedName, columns: (&[String], &[String]), is_view: (bool, bool)| {
                let columns = columns.0.iter().cloned().zip(columns.1.iter().cloned()).collect();
                KeyRelationship {
                    table: table.clone(),
                    foreign_table: foreign.clone(),
                    is_self: is_view == (true, true) && table == foreign,
                    cardinality: rebuild(ForeignKey { constraint: key.constraint.clone(), columns }),
                    table_is_view: is_view.0,
                    foreign_table_is_view: is_view.1,
                }
            };
        for source in sources {
            for columns in choices(&source.columns) {
                lifted.push(build(&source.view, &reference.foreign_table, (&columns, &of_foreign), (true, false)));
            }
        }
        for target in targets {
            for columns in choices(&target.columns) {
                lifted.push(build(&reference.table, &target.view, (&of_table, &columns), (false, true)));
            }
        }
        for source in sources {
            for own in choices(&source.columns) {
                for target in targets {
                    for foreign in choices(&target.columns) {
                        lifted.push(build(&source.view, &target.view, (&own, &foreign), (true, true)));
                    }
                }
            }
        }
    }
    lifted
}

fn swap(columns: &[(String, String)]) -> Vec<(String, String)> {
    columns.iter().map(|(a, b)| (b.clone(), a.clone())).collect()
}

/// The relationships in the other direction.
fn inverses(relationships: &[KeyRelationship]) -> Vec<KeyRelationship> {
    let inverse = |relationship: &KeyRelationship| {
        let swapped = |key: &ForeignKey| ForeignKey { constraint: key.constraint.clone(), columns: swap(&key.columns) };
        let cardinality = match &relationship.cardinality {
            Cardinality::ManyToOne(key) => Cardinality::OneToMany(swapped(key)),
            Cardinality::OneToOne(key, is_parent) => Cardinality::OneToOne(swapped(key), !is_parent),
            _ => return None,
        };
        Some(KeyRelationship {
            table: relationship.foreign_table.clone(),
            foreign_table: relationship.table.clone(),
            is_self: relationship.is_self,
            cardinality,
            table_is_view: relationship.foreign_table_is_view,
            foreign_table_is_view: relationship.table_is_view,
        })
    };
    relationships.iter().filter_map(inverse).collect()
}

/// The relationships through tables whose primary key holds the columns of two foreign keys.
fn through_junctions(
    relationships: &[KeyRelationship],
    primary_key: &impl Fn(&QualifiedName) -> Vec<String>,
) -> Vec<KeyRelationship> {
    let mut by_table: HashMap<&QualifiedName, Vec<(&KeyRelationship, &ForeignKey)>> = HashMap::new();
    for relationship in relationships {
        if let Cardinality::ManyToOne(key) = &relationship.cardinality {
            by_table.entry(&relationship.table).or_default().push((relationship, key));
        }
    }
    let mut found = Vec::new();
    for (junction, references) in by_table {
        let primary: HashSet<String> = primary_key(junction).into_iter().collect();
        for (first, first_key) in &references {
            for (second, second_key) in &references {
                let mut columns = first_key.columns.iter().chain(&second_key.columns);
                if first_key.constraint == second_key.constraint || !columns.all(|(column, _)| primary.contains(column))
                {
                    continue;
                }
                found.push(KeyRelationship {
                    table: first.foreign_table.clone(),
                    foreign_table: second.foreign_table.clone(),
                    is_self: first.foreign_table == second.foreign_table,
                    cardinality: Cardinality::ManyToMany(Junction {
                        table: junction.clone(),
                        source_constraint: first_key.constraint.clone(),
                        target_constraint: second_key.constraint.clone(),
                        source_columns: swap(&first_key.columns),
                        target_columns: swap(&second_key.columns),
                    }),
                    table_is_view: first.foreign_table_is_view,
                    foreign_table_is_view: second.foreign_table_is_view,
                });
            }
        }
    }
    found
}

/// All relationships between relations of the exposed schemas, by origin and schema of the target.
pub(super) fn collect(
    references: Vec<KeyRelationship>,
    computed: &[ComputedRelationship],
    view_keys: &[ViewKey],
    primary_key: &impl Fn(&QualifiedName) -> Vec<String>,
    is_exposed: &impl Fn(&str) -> bool,
) -> HashMap<(QualifiedName, String), Vec<Relationship>> {
    let mut all = references;
    all.extend(lift_to_views(&all, view_keys));
    all.extend(through_junctions(&all, primary_key));
    all.extend(inverses(&all));
    // A computed relationship replaces those to a relation of the function's name.
    let overridden: HashSet<(&QualifiedName, &QualifiedName)> =
        computed.iter().map(|relationship| (&relationship.table, &relationship.function)).collect();
    let has_internal_junction = |relationship: &Relationship| match relationship {
        Relationship::Key(KeyRelationship { cardinality: Cardinality::ManyToMany(junction), .. }) => {
            !is_exposed(&junction.table.schema)
        }
        _ => false,
    };
    let by_keys = all
        .into_iter()
        .filter(|relationship| !overridden.contains(&(&relationship.table, &relationship.foreign_table)))
        .map(|relationship| (relationship.foreign_table.schema.clone(), Relationship::Key(relationship)));
    let by_functions = computed
        .iter()
        .map(|relationship| (relationship.function.schema.clone(), Relationship::Computed(relationship.clone())));
    let mut map: HashMap<(QualifiedName, String), Vec<Relationship>> = HashMap::new();
    for (schema, relationship) in by_keys.chain(by_functions) {
        if is_exposed(&relationship.table().schema) && is_exposed(&relationship.foreign_table().schema) {
            // An origin whose relationships are all internal has an empty list, so hints do not replace its name.
            let list = map.entry((relationship.table().clone(), schema)).or_default();
            if !has_internal_junction(&relationship) {
                list.push(relationship);
            }
        }
    }
    for list in map.values_mut() {
        list.sort();
        list.shrink_to_fit();
    }
    map
}
