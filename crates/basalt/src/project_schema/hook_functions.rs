//! Database functions that hooks call and that do not exist.

use anyhow::Context;
use gotrue_rs::config::Notice;
use gotrue_rules::domain::policy::{HookTarget, HooksPolicy};
use platform::store::migrate::{ProjectSchema, find_created_object, split_script};
use sqlx::PgPool;

/// A hook that calls a function of the database.
struct FunctionHook<'a> {
    kind: &'static str,
    schema: &'a str,
    name: &'a str,
}

fn list_function_hooks(hooks: &HooksPolicy) -> Vec<FunctionHook<'_>> {
    let all = [
        ("send_sms", &hooks.send_sms),
        ("send_email", &hooks.send_email),
        ("custom_access_token", &hooks.custom_access_token),
        ("mfa_verification_attempt", &hooks.mfa_verification_attempt),
        ("password_verification_attempt", &hooks.password_verification_attempt),
        ("before_user_created", &hooks.before_user_created),
        ("after_user_created", &hooks.after_user_created),
    ];
    let mut found = Vec::new();
    for (kind, hook) in all {
        if let Some(HookTarget::PgFunction { schema, name }) = hook.as_ref().map(|hook| &hook.target) {
            found.push(FunctionHook { kind, schema, name });
        }
    }
    found
}

/// Returns a notice about each hook whose function no file creates.
pub(crate) fn find_missing_hook_functions(hooks: &HooksPolicy, schema: &ProjectSchema) -> Vec<Notice> {
    let missing =
        list_function_hooks(hooks).into_iter().filter(|hook| !creates_function(schema, hook.schema, hook.name));
    missing.map(|hook| build_notice(&hook, "which no migration and no seed file creates")).collect()
}

/// Returns a notice about each hook whose function the database does not have.
pub(super) async fn find_functions_missing_in_database(
    pool: &PgPool,
    hooks: &HooksPolicy,
) -> anyhow::Result<Vec<Notice>> {
    const EXISTS: &str = "SELECT EXISTS (
        SELECT FROM pg_catalog.pg_proc AS p
        JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace
        WHERE n.nspname = $1 AND p.proname = $2)";
    let mut notices = Vec::new();
    for hook in list_function_hooks(hooks) {
        let query = sqlx::query_scalar(EXISTS).persistent(false).bind(hook.schema).bind(hook.name);
        let exists: bool = query.fetch_one(pool).await.context("looking for the functions of hooks")?;
        if !exists {
            notices.push(build_notice(&hook, "which does not exist in the database"));
        }
    }
    Ok(notices)
}

fn build_notice(hook: &FunctionHook<'_>, state: &str) -> Notice {
    let text = format!("calls {}.{}, {state}: every call fails without it", hook.schema, hook.name);
    Notice::warning(format!("auth.hook.{}.uri", hook.kind), text)
}

fn creates_function(schema: &ProjectSchema, namespace: &str, name: &str) -> bool {
    let migrations = schema.migrations.iter().map(|migration| &migration.file);
    let mut files = migrations.chain(&schema.seeds).chain(&schema.roles);
    files.any(|file| {
        // Splitting takes longer than a search, and most files do not mention the function.
        file.text.to_lowercase().contains(&name.to_lowercase())
            && split_script(&file.text).iter().any(|statement| {
                find_created_object(&statement.sql).is_some_and(|object| {
                    object.kind == "function"
                        && object.name == name
                        && object.schema.is_none_or(|schema| schema == namespace)
                })
            })
    })
}
