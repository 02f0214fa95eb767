//! Database functions that hooks call and no file of the project creates.

use gotrue_rs::config::Notice;
use gotrue_rs::store::migrate::{ProjectSchema, split_script};
use gotrue_rules::domain::policy::{HookTarget, HooksPolicy};

/// Returns a notice about each hook whose function no file creates.
pub(crate) fn find_missing_hook_functions(hooks: &HooksPolicy, schema: &ProjectSchema) -> Vec<Notice> {
    let all = [
        ("send_sms", &hooks.send_sms),
        ("send_email", &hooks.send_email),
        ("custom_access_token", &hooks.custom_access_token),
        ("mfa_verification_attempt", &hooks.mfa_verification_attempt),
        ("password_verification_attempt", &hooks.password_verification_attempt),
        ("before_user_created", &hooks.before_user_created),
        ("after_user_created", &hooks.after_user_created),
    ];
    let mut notices = Vec::new();
    for (kind, hook) in all {
        let Some(HookTarget::PgFunction { schema: namespace, name }) = hook.as_ref().map(|hook| &hook.target) else {
            continue;
        };
        if !creates_function(schema, namespace, name) {
            let text = format!(
                "calls {namespace}.{name}, which no migration and no seed file creates: every call fails without it"
            );
            notices.push(Notice::warning(format!("auth.hook.{kind}.uri"), text));
        }
    }
    notices
}

fn creates_function(schema: &ProjectSchema, namespace: &str, name: &str) -> bool {
    let migrations = schema.migrations.iter().map(|migration| &migration.file);
    let mut files = migrations.chain(&schema.seeds).chain(&schema.roles);
    files.any(|file| {
        // Splitting takes longer than a search, and most files do not mention the function.
        file.text.to_lowercase().contains(&name.to_lowercase())
            && split_script(&file.text).iter().any(|statement| {
                created_function(&statement.sql)
                    .is_some_and(|(schema, created)| created == name && schema.is_none_or(|schema| schema == namespace))
            })
    })
}

/// Returns schema and name of the function that a statement creates.
fn created_function(sql: &str) -> Option<(Option<String>, String)> {
    let code: String =
        sql.lines().filter(|line| !line.trim_start().starts_with("--")).flat_map(|line| [line, " "]).collect();
    let mut words = code.split_whitespace();
    let is = |word: Option<&str>, wanted: &str| word.is_some_and(|word| word.eq_ignore_ascii_case(wanted));
    if !is(words.next(), "create") {
        return None;
    }
    let mut next = words.next();
    if is(next, "or") {
        next = words.nth(1);
    }
    if !is(next, "function") {
        return None;
    }
    let full = words.next()?.split('(').next()?;
    let plain = |part: &str| match part.strip_prefix('"').and_then(|part| part.strip_suffix('"')) {
        Some(quoted) => quoted.to_owned(),
        None => part.to_lowercase(),
    };
    match full.split_once('.') {
        Some((schema, name)) => Some((Some(plain(schema)), plain(name))),
        None => Some((None, plain(full))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn created_functions_are_found() {
        let created = |sql: &str| created_function(sql);
        let of = |schema: Option<&str>, name: &str| Some((schema.map(str::to_owned), name.to_owned()));
        assert_eq!(created("CREATE FUNCTION public.my_hook(event jsonb)"), of(Some("public"), "my_hook"));
        assert_eq!(created("-- a comment\ncreate or replace function My_Hook (event jsonb)"), of(None, "my_hook"));
        assert_eq!(created("create function \"public\".\"MyHook\"(event jsonb)"), of(Some("public"), "MyHook"));
        assert_eq!(created("SELECT 'create function f()'"), None);
        assert_eq!(created("CREATE TABLE function (a int)"), None);
    }

    proptest! {
        #[test]
        fn arbitrary_statements_do_not_panic(sql in "\\PC*", rest in "[a-z.\"( ]{0,20}") {
            let _ = (created_function(&sql), created_function(&format!("create or replace function {rest}")));
        }
    }
}
