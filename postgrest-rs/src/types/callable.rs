//! A function with types.

use super::catalog::{ArgumentRow, FunctionRow};

/// A function with types.
pub(super) struct Callable<'a> {
    pub(super) function: &'a FunctionRow,
    /// All arguments, by their names.
    pub(super) arguments: Vec<ArgumentRow>,
    /// Those that a call passes.
    pub(super) inputs: Vec<ArgumentRow>,
}
