//! The built-in providers: one file each, and one line each here.

mod github;

use super::provider::Provider;

/// Every built-in provider.
static ALL: [&dyn Provider; 1] = [&github::GitHub];

/// The built-in provider of that name, in any letters.
pub fn find(name: &str) -> Option<&'static dyn Provider> {
    ALL.into_iter().find(|provider| provider.name().eq_ignore_ascii_case(name))
}
