//! Names of people in responses of providers.

/// Joins first and last name with a space, without surrounding white space.
pub(super) fn full_name(first: &str, last: &str) -> String {
    format!("{first} {last}").trim().to_owned()
}
