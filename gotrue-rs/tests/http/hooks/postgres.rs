use gotrue_rs::testing::{PASSWORD, RedirectTarget, World};
use gotrue_rules::domain::policy::{Hook, HookKind, HookTarget};
use serde_json::json;

use super::{accounts, define, with_function};

const KEEP: &str = "INSERT INTO public.heard VALUES (event);";

async fn received_events(world: &World) -> Vec<String> {
    world.database.query("SELECT event FROM public.heard").await
}

#[tokio::test]
async fn function_exception_is_returned_with_its_message() {
    let world = with_function(HookKind::CustomAccessToken, "RETURN event;").await;
    let ann = world.create_user("ann@example.com").await;
    define(&world, &format!("{KEEP} RAISE EXCEPTION 'No more licences' USING HINT = 'ask the desk';")).await;
    let answer = world.try_password(&ann.email, PASSWORD).await;
    assert_eq!(answer.status, 500);
    assert_eq!(
        (answer.str("code"), answer.str("message"), answer.str("hint")),
        ("P0001", "No more licences", "ask the desk")
    );
    assert_eq!(world.refresh(&ann.refresh_token).await.status, 500);
    define(&world, "RAISE EXCEPTION 'no' USING ERRCODE = '22012';").await;
    let answer = world.try_password(&ann.email, PASSWORD).await;
    assert_eq!(answer.str("msg"), "Error running hook URI: pg-functions://postgres/public/hook");
    assert!(received_events(&world).await.is_empty());
    define(&world, "RETURN event;").await;
    world.refresh(&ann.refresh_token).await.expect(200);
}

/// `GET /verify` has one word for whatever the function raises, also for a status that it asks for.
#[tokio::test]
async fn verify_link_with_raising_token_function_is_a_server_error() {
    for state in ["P0001", "PT403", "PT400", "PT429", "23505"] {
        let world = with_function(HookKind::CustomAccessToken, "RETURN event;").await;
        world.create_user("ann@example.com").await;
        world.advance(chrono::TimeDelta::minutes(2));
        world.post("/otp", json!({"email": "ann@example.com"})).await.expect(200);
        define(&world, &format!("RAISE EXCEPTION 'no' USING ERRCODE = '{state}';")).await;
        let to = RedirectTarget::from_response(&world.get(&world.link("ann@example.com")).await.expect(303));
        assert_eq!(
            (to.fragment("error"), to.fragment("error_code")),
            ("server_error", "unexpected_failure"),
            "{state}"
        );
    }
}

#[tokio::test]
async fn token_function_sees_the_new_session() {
    let world = with_function(HookKind::CustomAccessToken, "RETURN event;").await;
    define(
        &world,
        "RETURN jsonb_build_object('claims', event -> 'claims' || jsonb_build_object('sessions',
             (SELECT count(*) FROM auth.sessions WHERE id = (event #>> '{claims,session_id}')::uuid)));",
    )
    .await;
    let ann = world.create_user("ann@example.com").await;
    let claims = world.app.keys.verify(&ann.access_token, world.now()).expect("our own token");
    assert_eq!(claims["sessions"], 1);
}

#[tokio::test]
async fn looping_function_is_cancelled_after_two_seconds_and_rolled_back() {
    let world = with_function(HookKind::PasswordVerificationAttempt, "RETURN '{}';").await;
    let ann = world.create_user("ann@example.com").await;
    define(&world, &format!("{KEEP} LOOP PERFORM 1; END LOOP;")).await;
    let answer = world.try_password(&ann.email, PASSWORD).await;
    assert_eq!(answer.str("msg"), "Error running hook URI: pg-functions://postgres/public/hook");
    assert!(received_events(&world).await.is_empty());
    define(&world, "RETURN NULL;").await;
    world.sign_in(&ann.email).await;
}

#[tokio::test]
async fn writes_of_a_rejecting_function_are_committed() {
    let world = with_function(HookKind::PasswordVerificationAttempt, "RETURN '{}';").await;
    let ann = world.create_user("ann@example.com").await;
    define(&world, &format!("{KEEP} RETURN '{{\"decision\": \"reject\", \"message\": \"Locked\"}}';")).await;
    assert_eq!(world.try_password(&ann.email, PASSWORD).await.str("msg"), "Locked");
    assert_eq!(received_events(&world).await.len(), 1);
}

#[tokio::test]
async fn function_timeout_does_not_apply_to_later_statements() {
    let world = with_function(HookKind::SendEmail, "RETURN '{}';").await;
    world
        .database
        .query(
            "CREATE FUNCTION public.slow() RETURNS trigger LANGUAGE plpgsql AS
             $f$ BEGIN RAISE EXCEPTION '%', current_setting('statement_timeout'); END $f$",
        )
        .await;
    world
        .database
        .query("CREATE TRIGGER slow BEFORE INSERT ON auth.one_time_tokens FOR EACH ROW EXECUTE FUNCTION public.slow()")
        .await;
    let answer = world.post("/signup", json!({"email": "ann@example.com", "password": PASSWORD})).await;
    let usual = world.app.policy.api.max_request_duration.as_secs();
    assert_eq!(answer.str("message"), format!("{usual}s"));
}

#[tokio::test]
async fn email_function_writes_in_the_users_transaction() {
    let world = with_function(HookKind::SendEmail, &format!("{KEEP} RETURN NULL;")).await;
    let body = json!({"email": "ann@example.com", "password": PASSWORD});
    world.faults.fail("one_time_tokens.issue_confirmation", 1);
    assert_eq!(world.post("/signup", body.clone()).await.status, 500);
    assert_eq!((accounts(&world).await.as_str(), received_events(&world).await.len()), ("0", 0));
    world.post("/signup", body).await.expect(200);
    assert_eq!((accounts(&world).await.as_str(), received_events(&world).await.len()), ("1", 1));
    assert!(world.mailbox.all().is_empty());
    world.faults.fail("one_time_tokens.issue_recovery", 1);
    assert_eq!(world.post("/recover", json!({"email": "ann@example.com"})).await.status, 500);
    assert_eq!(received_events(&world).await.len(), 1);
}

#[tokio::test]
async fn sms_function_writes_roll_back_with_the_request() {
    let world = with_function(HookKind::SendSms, &format!("{KEEP} RETURN '{{}}';")).await;
    world.faults.fail("one_time_tokens.issue_confirmation", 1);
    let body = json!({"phone": "15550100200"});
    assert_eq!(world.post("/otp", body.clone()).await.status, 500);
    assert!(received_events(&world).await.is_empty());
    world.post("/otp", body).await.expect(200);
    assert_eq!(received_events(&world).await.len(), 1);
}

#[tokio::test]
async fn event_with_special_characters_arrives_unchanged() {
    let world = with_function(HookKind::BeforeUserCreated, &format!("{KEEP} RETURN NULL;")).await;
    let name = r#"'); DROP TABLE public.heard; -- \' \\ $1 E'\x27' "quoted" 🦀"#;
    for standard in ["on", "off"] {
        world
            .database
            .query(&format!("ALTER ROLE supabase_auth_admin SET standard_conforming_strings = {standard}"))
            .await;
        let body = json!({"email": format!("{standard}@example.com"), "password": PASSWORD, "data": {"name": name}});
        world.post("/signup", body).await.expect(200);
    }
    let names = world.database.query("SELECT event #>> '{user,user_metadata,name}' FROM public.heard").await;
    assert_eq!(names, [name, name]);
    world.database.query("ALTER ROLE supabase_auth_admin RESET standard_conforming_strings").await;
}

#[tokio::test]
async fn function_with_quoted_name_may_use_json_or_return_null() {
    let target = HookTarget::PgFunction { schema: "Odd".to_owned(), name: "Hook".to_owned() };
    let hook = Hook { uri: "pg-functions://postgres/Odd/Hook".to_owned(), target, secrets: Vec::new() };
    let world = World::with(|policy| {
        policy.mail.autoconfirm = true;
        policy.hooks.password_verification_attempt = Some(hook);
    })
    .await;
    let ann = world.create_user("ann@example.com").await;
    let missing = world.try_password(&ann.email, PASSWORD).await;
    assert_eq!(missing.str("msg"), "Error running hook URI: pg-functions://postgres/Odd/Hook");
    world.database.query("CREATE SCHEMA \"Odd\"").await;
    world.database.query("GRANT USAGE ON SCHEMA \"Odd\" TO supabase_auth_admin").await;
    for (gives, body) in [("json", "'{}'::json"), ("jsonb", "NULL::jsonb"), ("text", "'{}'"), ("void", "NULL")] {
        world.database.query("DROP FUNCTION IF EXISTS \"Odd\".\"Hook\"(json)").await;
        let sql = format!("CREATE FUNCTION \"Odd\".\"Hook\"(json) RETURNS {gives} LANGUAGE sql AS $$ SELECT {body} $$");
        world.database.query(&sql).await;
        world.sign_in(&ann.email).await;
    }
}

#[tokio::test]
async fn function_sets_the_status_and_below_200_is_ignored() {
    let world = with_function(HookKind::CustomAccessToken, "RETURN event;").await;
    let ann = world.create_user("ann@example.com").await;
    for (state, status, code) in [("PT402", 402, "PT402"), ("PT599", 599, "PT599")] {
        define(&world, &format!("RAISE EXCEPTION 'No' USING ERRCODE = '{state}';")).await;
        let answer = world.try_password(&ann.email, PASSWORD).await;
        assert_eq!((answer.status.as_u16(), answer.str("code")), (status, code), "{state}");
    }
    for state in ["PT001", "PT199"] {
        define(&world, &format!("RAISE EXCEPTION 'No' USING ERRCODE = '{state}';")).await;
        let answer = world.try_password(&ann.email, PASSWORD).await.expect(500);
        assert_eq!((answer.str("msg"), answer.json.get("error_id")), ("Internal Server Error", None), "{state}");
    }
    define(&world, "RAISE EXCEPTION 'No' USING ERRCODE = 'PT000';").await;
    let answer = world.try_password(&ann.email, PASSWORD).await.expect(500);
    assert!(answer.str("msg").starts_with("Error running hook URI: "), "{}", answer.text);
}
