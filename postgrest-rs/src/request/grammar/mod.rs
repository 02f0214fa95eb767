//! Grammar of the values of the query string: names and each kind of value in a file of its own.

mod filter;
mod names;
mod order;
mod select;
mod words;

pub(super) use self::filter::{filter, filter_or_argument, logic_tree};
pub(super) use self::names::{columns, logic_path, tree_path};
pub(super) use self::order::order;
pub(super) use self::select::select;
