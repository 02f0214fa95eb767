//! The operator's hooks, called at a receiver on this machine or as functions of the test's database.

mod attempts;
mod created;
mod factors;
mod held;
mod http;
mod message_users;
mod messages;
mod postgres;
mod tokens;

use gotrue_rs::testing::{HookServer, World, WorldBuilder};
use gotrue_rules::domain::policy::{Hook, HookKind, HookTarget, HooksPolicy};

/// A secret that signs calls.
const SECRET: &str = "v1,whsec_cmVwbGF5LWhvb2stc2VjcmV0LW51bWJlci1vbmUtMDAwMQ==";

/// The place of a hook of that kind.
fn of(hooks: &mut HooksPolicy, kind: HookKind) -> &mut Option<Hook> {
    match kind {
        HookKind::SendSms => &mut hooks.send_sms,
        HookKind::SendEmail => &mut hooks.send_email,
        HookKind::CustomAccessToken => &mut hooks.custom_access_token,
        HookKind::MfaVerificationAttempt => &mut hooks.mfa_verification_attempt,
        HookKind::PasswordVerificationAttempt => &mut hooks.password_verification_attempt,
        HookKind::BeforeUserCreated => &mut hooks.before_user_created,
        HookKind::AfterUserCreated => &mut hooks.after_user_created,
    }
}

/// A world whose accounts are confirmed at once, with this hook at `/hook`.
fn confirmed_at_once(receiver: &HookServer, kind: HookKind) -> WorldBuilder {
    with_hook(receiver, kind).policy(|policy| policy.mail.autoconfirm = true)
}

/// A world with this hook at `/hook`.
fn with_hook(receiver: &HookServer, kind: HookKind) -> WorldBuilder {
    let hook = receiver.hook("/hook", &[SECRET]);
    World::builder().policy(|policy| *of(&mut policy.hooks, kind) = Some(hook))
}

/// A world with this hook as the function `public.hook`, which the test writes.
async fn with_function(kind: HookKind, body: &str) -> World {
    let target = HookTarget::PgFunction { schema: "public".to_owned(), name: "hook".to_owned() };
    let hook = Hook { uri: "pg-functions://postgres/public/hook".to_owned(), target, secrets: Vec::new() };
    let world = World::builder()
        .policy(|policy| {
            policy.mail.autoconfirm = !matches!(kind, HookKind::SendEmail);
            *of(&mut policy.hooks, kind) = Some(hook);
        })
        .build()
        .await;
    world.database.query("CREATE TABLE public.heard (event jsonb)").await;
    world.database.query("GRANT ALL ON public.heard TO supabase_auth_admin").await;
    define(&world, body).await;
    world
}

/// Gives the function a body: PL/pgSQL that knows `event`.
async fn define(world: &World, body: &str) {
    let sql = format!(
        "CREATE OR REPLACE FUNCTION public.hook(event jsonb) RETURNS jsonb LANGUAGE plpgsql AS $f$ BEGIN {body} END $f$"
    );
    world.database.query(&sql).await;
}

/// How many accounts there are.
async fn accounts(world: &World) -> String {
    world.database.query("SELECT count(*) FROM auth.users").await.remove(0)
}
