//! Settings: parsing, errors, warnings, and the effect of every row of the table.

mod dotenv;
mod loading;
mod notices;
mod refusals;
mod secret_files;
mod sections;
mod start;
mod table;
mod values;

use std::collections::BTreeMap;

use gotrue_rs::config::{Config, Problem, Vars, load};

/// RSA keys made for these tests; they protect nothing.
const RSA_KEY: &str = include_str!("saml_2048.txt");

/// The least a server starts with.
const REQUIRED: [(&str, &str); 5] = [
    ("GOTRUE_DB_DRIVER", "postgres"),
    ("DATABASE_URL", "postgres://user:password@localhost:5432/postgres"),
    ("API_EXTERNAL_URL", "https://api.example.com/auth/v1"),
    ("GOTRUE_SITE_URL", "https://shop.example.com"),
    ("GOTRUE_JWT_SECRET", "at-least-32-characters-of-your-own"),
];

/// The required variables and these; a later one of a name replaces an earlier one.
fn variables(more: &[(&str, &str)]) -> BTreeMap<String, String> {
    REQUIRED.iter().chain(more).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// What the required variables and these become.
fn loaded(more: &[(&str, &str)]) -> Result<Config, Vec<Problem>> {
    load(&Vars::from_map(variables(more)))
}

/// The same where nothing is wrong.
fn config(more: &[(&str, &str)]) -> Config {
    loaded(more).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// The same where something is: each problem as the operator reads it.
fn complaints(more: &[(&str, &str)]) -> Vec<String> {
    match loaded(more) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}
