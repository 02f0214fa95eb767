use chrono::TimeDelta;
use gotrue_rs::testing::{TestUser, TotpFactor, World};
use gotrue_rules::domain::policy::{MailKind, Policy};
use http::Method;
use platform::testing::Answer;
use serde_json::{Value, json};

use super::{ANN, assurance, factors};

const CODES: &str = "/factors/recovery-codes";
const WRONG: &str = "aaaaaaaaaaaaa";

fn enable(policy: &mut Policy) {
    policy.mfa.recovery_codes.enroll_enabled = true;
    policy.mfa.recovery_codes.verify_enabled = true;
}

async fn enabled() -> World {
    World::with(enable).await
}

struct Enrolled {
    strong: TestUser,
    weak: TestUser,
    app: TotpFactor,
    codes: Vec<String>,
    id: String,
}

impl Enrolled {
    /// A user with codes: a session at `aal2`, and a later one at `aal1`.
    async fn of(world: &World) -> Self {
        let (strong, app) = world.create_user_with_totp(ANN).await;
        let made = generate(world, &strong, json!({})).await.expect(200);
        let weak = world.sign_in(ANN).await;
        Self { strong, weak, app, codes: codes_of(&made), id: made.str("id").to_owned() }
    }
}

fn codes_of(answer: &Answer) -> Vec<String> {
    let codes = answer.json["codes"].as_array().cloned().unwrap_or_default();
    codes.iter().map(|code| code.as_str().unwrap_or_default().to_owned()).collect()
}

async fn generate(world: &World, user: &TestUser, body: Value) -> Answer {
    world.post_as(&user.access_token, CODES, body).await
}

async fn regenerate(world: &World, user: &TestUser) -> Answer {
    world.post_as(&user.access_token, &format!("{CODES}/regenerate"), json!({})).await
}

async fn verify(world: &World, user: &TestUser, code: &str) -> Answer {
    world.post_as(&user.access_token, &format!("{CODES}/verify"), json!({ "code": code })).await
}

async fn status(world: &World, user: &TestUser) -> Answer {
    world.get_as(&user.access_token, CODES).await
}

async fn send(world: &World, method: Method, token: &str, path: &str) -> Answer {
    let bearer = format!("Bearer {token}");
    world.request(method, path, &[("authorization", &bearer)], None).await
}

async fn audited(world: &World, action: &str) -> Vec<String> {
    let sql = format!(
        "SELECT concat_ws(' ', payload->>'log_type', (payload->'traits')::jsonb) AS entry FROM auth.audit_log_entries
         WHERE payload->>'action' = '{action}'"
    );
    world.database.query(&sql).await
}

async fn lock_of(world: &World) -> String {
    let lock = "SELECT concat_ws(' ', failed_verification_count, verification_locked_until IS NOT NULL) AS lock
                FROM auth.mfa_recovery_code_sets";
    world.database.query(lock).await.concat()
}

#[tokio::test]
async fn generated_codes_are_shown_once_and_listed_as_a_verified_factor() {
    let world = World::with(|policy| {
        enable(policy);
        policy.mfa.recovery_codes.hash_cost = Policy::default().mfa.recovery_codes.hash_cost;
    })
    .await;
    let (ann, _) = world.create_user_with_totp(ANN).await;
    assert_eq!(status(&world, &ann).await.refusal(), (404, "mfa_factor_not_found"));

    let made = generate(&world, &ann, json!({"friendly_name": "My codes"})).await.expect(200);

    let codes = codes_of(&made);
    assert_eq!(
        (made.str("type"), made.str("friendly_name"), &made.json["total"]),
        ("recovery_code", "My codes", &json!(10))
    );
    assert!(made.json.get("remaining").is_none());
    let is_code =
        |code: &String| code.len() == 16 && code.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7'));
    assert!(codes.len() == 10 && codes.iter().all(is_code), "{codes:?}");
    assert_eq!(codes.iter().collect::<std::collections::HashSet<_>>().len(), 10);
    let shown = status(&world, &ann).await.expect(200);
    assert_eq!(shown.json, json!({"id": made.str("id"), "type": "recovery_code", "total": 10, "remaining": 10}));
    assert_eq!(factors(&world, &ann).await, ["My codes: verified", "app: verified"]);
    let listed = world.get_as(&world.service_token(), &format!("/admin/users/{}/factors", ann.id)).await.expect(200);
    let listed = listed.json.as_array().cloned().unwrap_or_default();
    let kinds: Vec<_> = listed.iter().map(|factor| factor["factor_type"].clone()).collect();
    assert!(kinds.contains(&json!("recovery_code")), "{kinds:?}");
    let entry = format!(r#"factor {{"count": 10, "factor_id": "{}"}}"#, made.str("id"));
    assert_eq!(audited(&world, "recovery_codes_generated").await, [entry]);
    let hashes = world.database.query("SELECT code_hash FROM auth.mfa_recovery_codes").await;
    assert!(hashes.iter().all(|hash| hash.starts_with("$argon2id$v=19$m=7168,t=5,p=1$")), "{hashes:?}");
}

#[tokio::test]
async fn blank_name_is_the_default_and_a_taken_one_is_refused() {
    let world = enabled().await;
    let (ann, _) = world.create_user_with_totp(ANN).await;
    assert_eq!(
        generate(&world, &ann, json!({"friendly_name": "app"})).await.refusal(),
        (422, "mfa_factor_name_conflict")
    );
    for body in [json!({}), json!({"friendly_name": "  "})] {
        let made = generate(&world, &ann, body).await.expect(200);
        assert_eq!(made.str("friendly_name"), "Recovery codes");
        send(&world, Method::DELETE, &ann.access_token, CODES).await.expect(200);
    }
    let empty = send(&world, Method::POST, &ann.access_token, CODES).await.expect(200);
    assert_eq!(empty.str("friendly_name"), "Recovery codes");
    let again = generate(&world, &ann, json!({"friendly_name": "Second"})).await;
    assert_eq!(again.refusal(), (422, "mfa_verified_factor_exists"));
    send(&world, Method::DELETE, &ann.access_token, CODES).await.expect(200);
    world.enroll_totp(&ann, "Recovery codes").await;
    assert_eq!(generate(&world, &ann, json!({})).await.refusal(), (422, "mfa_factor_name_conflict"));
    assert_eq!(generate(&world, &ann, json!({"friendly_name": 1})).await.refusal(), (400, "bad_json"));
}

#[tokio::test]
async fn checks_run_from_switch_over_body_and_level_to_factors() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let off = (422, "mfa_recovery_codes_enroll_not_enabled");
    assert_eq!(generate(&world, &ann, json!({"friendly_name": 1})).await.refusal(), off);
    assert_eq!(regenerate(&world, &ann).await.refusal(), off);
    assert_eq!(verify(&world, &ann, "").await.refusal(), (422, "mfa_recovery_codes_verify_not_enabled"));
    assert_eq!(status(&world, &ann).await.refusal(), (404, "mfa_factor_not_found"));

    let world = enabled().await;
    let ann = world.create_user(ANN).await;
    assert_eq!(generate(&world, &ann, json!({"friendly_name": 1})).await.refusal(), (400, "bad_json"));
    let low = (403, "insufficient_aal");
    assert_eq!(generate(&world, &ann, json!({})).await.refusal(), low);
    assert_eq!(regenerate(&world, &ann).await.refusal(), low);
    assert_eq!(send(&world, Method::DELETE, &ann.access_token, CODES).await.refusal(), low);
    assert_eq!(verify(&world, &ann, WRONG).await.refusal(), (422, "mfa_verification_failed"));
    let app = world.enroll_totp(&ann, "app").await;
    let ann = world.elevate_session(&ann, &app).await;
    assert_eq!(regenerate(&world, &ann).await.refusal(), (404, "mfa_factor_not_found"));
    assert_eq!(send(&world, Method::DELETE, &ann.access_token, CODES).await.refusal(), (404, "mfa_factor_not_found"));
}

#[tokio::test]
async fn anonymous_users_are_refused() {
    let world = World::with(|policy| {
        enable(policy);
        policy.sign_up.anonymous_enabled = true;
    })
    .await;
    let visitor = TestUser::from_session(&world.post("/signup", json!({})).await);
    for (method, path) in [
        (Method::GET, ""),
        (Method::POST, ""),
        (Method::DELETE, ""),
        (Method::POST, "/regenerate"),
        (Method::POST, "/verify"),
    ] {
        let refused = send(&world, method, &visitor.access_token, &format!("{CODES}{path}")).await;
        assert_eq!(refused.refusal(), (403, "no_authorization"), "{path}");
    }
}

#[tokio::test]
async fn limits_of_factors_count_codes() {
    for (enrolled, verified) in [(1, 10), (10, 1)] {
        let mut world = enabled().await;
        let (ann, _) = world.create_user_with_totp(ANN).await;
        world.reload(|policy| {
            policy.mfa.max_enrolled_factors = enrolled;
            policy.mfa.max_verified_factors = verified;
        });
        assert_eq!(generate(&world, &ann, json!({})).await.refusal(), (422, "too_many_enrolled_mfa_factors"));
    }
    let mut world = enabled().await;
    let of = Enrolled::of(&world).await;
    world.reload(|policy| policy.mfa.max_enrolled_factors = 2);
    let another = world.enroll(&of.strong.access_token, json!({"factor_type": "totp", "friendly_name": "b"})).await;
    assert_eq!(another.refusal(), (422, "too_many_enrolled_mfa_factors"));
}

#[tokio::test]
async fn code_raises_the_session_once_whatever_its_form() {
    let world = enabled().await;
    let Enrolled { weak, codes, id, .. } = Enrolled::of(&world).await;
    let other = world.sign_in(ANN).await;
    assert_eq!(verify(&world, &weak, WRONG).await.refusal(), (422, "mfa_verification_failed"));
    assert_eq!(lock_of(&world).await, "1 f");
    world.advance(TimeDelta::seconds(1));

    let code = codes[0].to_uppercase();
    let form = format!(" {}-{} {}-{}", &code[..4], &code[4..8], &code[8..12], &code[12..]);
    let raised = verify(&world, &weak, &form).await.expect(200);

    let (level, methods) = assurance(&world, raised.str("access_token"));
    assert_eq!((level.as_str(), methods[0].as_str()), ("aal2", "mfa/recovery_code"));
    assert_eq!(world.decode_claims(raised.str("access_token"))["session_id"], json!(weak.session));
    assert_eq!(lock_of(&world).await, "0 f");
    assert_eq!(world.refresh(&other.refresh_token).await.status, 400, "the weaker session ends");
    let refreshed = world.refresh(raised.str("refresh_token")).await.expect(200);
    assert_eq!(assurance(&world, refreshed.str("access_token")).0, "aal2");
    let entry = format!(r#"factor {{"factor_id": "{id}", "remaining": 9}}"#);
    assert_eq!(audited(&world, "recovery_codes_verified").await, [entry]);
    let weak = TestUser::from_session(&refreshed);
    assert_eq!(status(&world, &weak).await.expect(200).json["remaining"], 9);
    let again = verify(&world, &weak, &codes[0]).await;
    assert_eq!(again.refusal(), (422, "mfa_verification_failed"));
    assert_eq!(lock_of(&world).await, "1 f");
}

#[tokio::test]
async fn wrong_used_and_absent_codes_are_refused_alike() {
    let world = enabled().await;
    let (ann, _) = world.create_user_with_totp(ANN).await;
    let absent = verify(&world, &ann, WRONG).await;
    let codes = codes_of(&generate(&world, &ann, json!({})).await.expect(200));
    let wrong = verify(&world, &ann, WRONG).await;
    let ann = TestUser::from_session(&verify(&world, &ann, &codes[0]).await);
    let used = verify(&world, &ann, &codes[0]).await;
    let long = verify(&world, &ann, &"a".repeat(10_000)).await;
    assert_eq!(absent.refusal(), (422, "mfa_verification_failed"));
    for other in [wrong, used, long] {
        assert_eq!(other.text, absent.text);
    }
    for (body, refusal) in [
        (json!({"code": ""}), (400, "validation_failed")),
        (json!({"code": " -- - "}), (400, "validation_failed")),
        (json!({}), (400, "validation_failed")),
        (json!({"code": 1}), (400, "bad_json")),
    ] {
        let refused = world.post_as(&ann.access_token, &format!("{CODES}/verify"), body.clone()).await;
        assert_eq!(refused.refusal(), refusal, "{body}");
    }
    assert_eq!(send(&world, Method::POST, &ann.access_token, &format!("{CODES}/verify")).await.status, 400);
    assert_eq!(lock_of(&world).await, "2 f", "malformed bodies do not count");
}

#[tokio::test]
async fn wrong_codes_lock_verification_for_a_time_that_attempts_do_not_prolong() {
    let world = World::with(|policy| {
        enable(policy);
        policy.mfa.recovery_codes.max_verify_attempts = 3;
    })
    .await;
    let Enrolled { weak, codes, .. } = Enrolled::of(&world).await;
    for _ in 0..3 {
        assert_eq!(verify(&world, &weak, WRONG).await.refusal(), (422, "mfa_verification_failed"));
    }
    assert_eq!(lock_of(&world).await, "3 t");
    world.advance(TimeDelta::minutes(14));
    for code in [codes[0].as_str(), WRONG] {
        assert_eq!(verify(&world, &weak, code).await.refusal(), (429, "mfa_recovery_codes_locked"));
    }
    world.advance(TimeDelta::seconds(61));
    assert_eq!(verify(&world, &weak, WRONG).await.refusal(), (422, "mfa_verification_failed"));
    assert_eq!(lock_of(&world).await, "1 f", "the count starts anew");
    verify(&world, &weak, &codes[0]).await.expect(200);
    assert_eq!(lock_of(&world).await, "0 f");
}

#[tokio::test]
async fn code_of_another_user_is_wrong_and_stays_unused() {
    let world = enabled().await;
    let Enrolled { weak, .. } = Enrolled::of(&world).await;
    let (bob, _) = world.create_user_with_totp("bob@example.com").await;
    let codes = codes_of(&generate(&world, &bob, json!({})).await.expect(200));
    assert_eq!(verify(&world, &weak, &codes[0]).await.refusal(), (422, "mfa_verification_failed"));
    assert_eq!(status(&world, &bob).await.expect(200).json["remaining"], 10);
    verify(&world, &bob, &codes[0]).await.expect(200);
}

#[tokio::test]
async fn unreadable_stored_code_matches_nothing() {
    let world = enabled().await;
    let Enrolled { weak, codes, .. } = Enrolled::of(&world).await;
    let broken = "UPDATE auth.mfa_recovery_codes SET code_hash = 'plain'
                  WHERE id = (SELECT min(id::text)::uuid FROM auth.mfa_recovery_codes)";
    world.database.query(broken).await;
    let mut raised = 0;
    let mut user = weak;
    for code in &codes {
        let answer = verify(&world, &user, code).await;
        if answer.status == 200 {
            raised += 1;
            user = TestUser::from_session(&answer);
        }
    }
    assert_eq!(raised, 9);
}

#[tokio::test]
async fn regeneration_replaces_codes_keeps_the_factor_and_ends_a_lock() {
    let world = World::with(|policy| {
        enable(policy);
        policy.mfa.recovery_codes.max_verify_attempts = 3;
        policy.mfa.recovery_codes.count = 4;
        policy.mfa.recovery_codes.code_length = 32;
    })
    .await;
    let Enrolled { strong, weak, codes, id, .. } = Enrolled::of(&world).await;
    assert!(codes.len() == 4 && codes.iter().all(|code| code.len() == 32), "{codes:?}");
    for _ in 0..3 {
        verify(&world, &weak, WRONG).await;
    }
    assert_eq!(regenerate(&world, &weak).await.refusal(), (403, "insufficient_aal"));
    let made = regenerate(&world, &strong).await.expect(200);
    assert_eq!(
        (made.str("id"), made.str("friendly_name"), &made.json["total"]),
        (id.as_str(), "Recovery codes", &json!(4))
    );
    assert_eq!(lock_of(&world).await, "0 f");
    assert_eq!(verify(&world, &weak, &codes[1]).await.refusal(), (422, "mfa_verification_failed"));
    verify(&world, &weak, &codes_of(&made)[0]).await.expect(200);
    let entry = format!(r#"factor {{"count": 4, "factor_id": "{id}"}}"#);
    assert_eq!(audited(&world, "recovery_codes_regenerated").await, [entry]);
}

#[tokio::test]
async fn deletion_lowers_the_sessions_that_a_code_raised() {
    let world = enabled().await;
    let Enrolled { strong, weak, codes, id, .. } = Enrolled::of(&world).await;
    let raised = TestUser::from_session(&verify(&world, &weak, &codes[0]).await);
    let gone = send(&world, Method::DELETE, &strong.access_token, CODES).await.expect(200);
    assert_eq!(gone.json, json!({ "id": id }));
    assert_eq!(status(&world, &strong).await.refusal(), (404, "mfa_factor_not_found"));
    let level =
        |session: &str| format!("SELECT concat_ws(' ', aal, factor_id) AS l FROM auth.sessions WHERE id = '{session}'");
    assert_eq!(world.database.query(&level(&weak.session)).await, ["aal1"]);
    assert!(world.database.query(&level(&strong.session)).await[0].starts_with("aal2 "));
    let refreshed = world.refresh(&raised.refresh_token).await.expect(200);
    let (level, methods) = assurance(&world, refreshed.str("access_token"));
    assert!(level == "aal1" && !methods.contains(&"mfa/recovery_code".to_owned()), "{methods:?}");
    assert_eq!(audited(&world, "recovery_codes_deleted").await, [format!(r#"factor {{"factor_id": "{id}"}}"#)]);
    assert_eq!(world.database.query("SELECT count(*) FROM auth.mfa_recovery_codes").await, ["0"]);
    generate(&world, &strong, json!({})).await.expect(200);
}

#[tokio::test]
async fn administrator_deletes_codes_and_any_other_factor() {
    let world = enabled().await;
    let Enrolled { strong, weak, app, codes, id } = Enrolled::of(&world).await;
    verify(&world, &weak, &codes[0]).await.expect(200);
    let path = |factor: &str| format!("/admin/users/{}/factors/{factor}", strong.id);
    let gone = send(&world, Method::DELETE, &world.service_token(), &path(&id)).await.expect(200);
    assert_eq!(gone.str("factor_type"), "recovery_code");
    let level = format!("SELECT aal FROM auth.sessions WHERE id = '{}'", weak.session);
    assert_eq!(world.database.query(&level).await, ["aal1"]);
    generate(&world, &strong, json!({})).await.expect(200);
    send(&world, Method::DELETE, &world.service_token(), &path(&app.id)).await.expect(200);
}

#[tokio::test]
async fn last_other_usable_factor_is_kept_while_there_are_codes() {
    let mut world = World::builder()
        .policy(|policy| {
            enable(policy);
            policy.mfa.phone.enroll_enabled = true;
            policy.mfa.phone.verify_enabled = true;
        })
        .with_phones()
        .build()
        .await;
    let Enrolled { strong, app, .. } = Enrolled::of(&world).await;
    let sole = (422, "mfa_recovery_codes_sole_factor");
    let unfinished = world.enroll_totp(&strong, "unfinished").await;
    world.unenroll(&strong.access_token, &unfinished.id).await.expect(200);
    assert_eq!(world.unenroll(&strong.access_token, &app.id).await.refusal(), sole);
    assert_eq!(audited(&world, "factor_unenrolled").await.len(), 1, "a refusal is not audited");

    let phone =
        world.enroll(&strong.access_token, json!({"factor_type": "phone", "phone": "15550100", "friendly_name": "p"}));
    let phone = phone.await.expect(200).str("id").to_owned();
    let challenge = world.create_challenge(&strong.access_token, &phone).await.expect(200);
    let code = world.phones.latest("15550100").code;
    let strong =
        TestUser::from_session(&world.verify_challenge(&strong.access_token, &phone, challenge.str("id"), &code).await);
    world.reload(|policy| policy.mfa.phone.verify_enabled = false);
    assert_eq!(world.unenroll(&strong.access_token, &app.id).await.refusal(), sole, "the phone cannot be used");
    world.reload(|policy| policy.mfa.phone.verify_enabled = true);
    world.unenroll(&strong.access_token, &app.id).await.expect(200);
    let strong = world.sign_in(ANN).await;
    assert_eq!(world.unenroll(&strong.access_token, &phone).await.refusal(), (422, "insufficient_aal"));
}

#[tokio::test]
async fn factor_that_cannot_be_used_is_no_other_factor() {
    let mut world = enabled().await;
    let (ann, _) = world.create_user_with_totp(ANN).await;
    world.reload(|policy| policy.mfa.totp_verify_enabled = false);
    assert_eq!(generate(&world, &ann, json!({})).await.refusal(), (422, "mfa_recovery_codes_sole_factor"));
}

#[tokio::test]
async fn endpoints_of_other_factors_refuse_codes() {
    let world = enabled().await;
    let Enrolled { strong, codes, id, .. } = Enrolled::of(&world).await;
    let refused = (400, "validation_failed");
    let token = &strong.access_token;
    assert_eq!(world.enroll(token, json!({"factor_type": "recovery_code"})).await.refusal(), refused);
    assert_eq!(world.create_challenge(token, &id).await.refusal(), refused);
    assert_eq!(world.verify_challenge(token, &id, &id, &codes[0]).await.refusal(), refused);
    assert_eq!(world.unenroll(token, &id).await.refusal(), (422, "validation_failed"));
    assert_eq!(status(&world, &strong).await.expect(200).json["remaining"], 10);
}

#[tokio::test]
async fn codes_are_notified_like_other_factors() {
    let world = World::with(|policy| {
        enable(policy);
        policy.mail.notifications.extend([MailKind::MfaFactorEnrolled, MailKind::MfaFactorUnenrolled]);
    })
    .await;
    let (ann, _) = world.create_user_with_totp(ANN).await;
    let before = world.mailbox.all().len();
    generate(&world, &ann, json!({})).await.expect(200);
    assert_eq!(world.mailbox.all().len(), before + 1);
    assert!(world.mailbox.latest(ANN).html.contains("recovery_code"), "{:?}", world.mailbox.latest(ANN));
    send(&world, Method::DELETE, &ann.access_token, CODES).await.expect(200);
    assert_eq!(world.mailbox.latest(ANN).subject, "A verification method was removed from your account");
}

#[tokio::test]
async fn users_without_codes_need_no_tables() {
    let world = enabled().await;
    world.database.query("DROP TABLE auth.mfa_recovery_codes, auth.mfa_recovery_code_sets").await;
    let (ann, app) = world.create_user_with_totp(ANN).await;
    assert_eq!(status(&world, &ann).await.refusal(), (404, "mfa_factor_not_found"));
    assert_eq!(verify(&world, &ann, WRONG).await.refusal(), (422, "mfa_verification_failed"));
    world.unenroll(&ann.access_token, &app.id).await.expect(200);
}

#[tokio::test]
async fn codes_of_the_reference_are_accepted() {
    let world = enabled().await;
    let Enrolled { weak, .. } = Enrolled::of(&world).await;
    // Made by argon2-cffi with the parameters of the reference.
    let hash = "$argon2id$v=19$m=19456,t=2,p=1$MDEyMzQ1Njc4OWFiY2RlZg$1Fvqp4H8GiQHWKYCFwdOn5OmHurBz+n8KhjtE86jNwk";
    world.database.query(&format!("UPDATE auth.mfa_recovery_codes SET code_hash = '{hash}'")).await;
    verify(&world, &weak, "ABCD-EFGH-JKLM-NP27").await.expect(200);
}
