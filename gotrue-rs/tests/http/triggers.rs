//! Triggers of a project on `auth.users`: what they change or refuse is what is answered, and they see what the reference
//! lets them see.

use gotrue_rs::testing::World;
use http::Method;
use serde_json::{Value, json};

const ANN: &str = "ann@example.com";
const PASSWORD: &str = "a long password";

/// Creates a function of a trigger and the trigger.
async fn create_trigger(world: &World, body: &str, when: &str) {
    let function = format!(
        "CREATE FUNCTION public.act() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $f$
         BEGIN {body} END $f$"
    );
    world.database.query(&function).await;
    world.database.query(&format!("CREATE TRIGGER act {when} FOR EACH ROW EXECUTE FUNCTION public.act()")).await;
}

async fn create_profiles(world: &World) {
    world
        .database
        .query("CREATE TABLE public.profiles (id uuid PRIMARY KEY REFERENCES auth.users ON DELETE CASCADE)")
        .await;
    create_trigger(
        world,
        "INSERT INTO public.profiles (id) VALUES (NEW.id) ON CONFLICT DO NOTHING; RETURN NEW;",
        "AFTER UPDATE OF email_confirmed_at ON auth.users",
    )
    .await;
}

async fn count(world: &World, table: &str) -> String {
    world.database.query(&format!("SELECT count(*)::text FROM {table}")).await.concat()
}

async fn sign_up(world: &World, email: &str) -> platform::testing::Answer {
    world.post("/signup", json!({"email": email, "password": PASSWORD})).await
}

async fn administer(world: &World, path: &str, body: Value) -> platform::testing::Answer {
    world.post_as(&world.service_token(), path, body).await
}

#[tokio::test]
async fn metadata_that_a_trigger_adds_is_in_response_and_token() {
    for builder in [World::builder(), World::builder().as_served()] {
        let world = builder.policy(|policy| policy.mail.autoconfirm = true).build().await;
        let body =
            "NEW.raw_app_meta_data = coalesce(NEW.raw_app_meta_data, '{}') || '{\"tier\": \"free\"}'; RETURN NEW;";
        create_trigger(&world, body, "BEFORE INSERT ON auth.users").await;
        let session = sign_up(&world, ANN).await.expect(200);
        assert_eq!(session.json["user"]["app_metadata"]["tier"], "free");
        assert_eq!(world.decode_claims(session.str("access_token"))["app_metadata"]["tier"], "free");
        let made = administer(&world, "/admin/users", json!({"email": "bob@example.com"})).await.expect(200);
        assert_eq!(made.json["app_metadata"]["tier"], "free");
    }
}

#[tokio::test]
async fn user_that_a_trigger_confirms_gets_a_session_and_no_mail() {
    for builder in [World::builder(), World::builder().as_served()] {
        let world = builder.build().await;
        create_trigger(&world, "NEW.email_confirmed_at = now(); RETURN NEW;", "BEFORE INSERT ON auth.users").await;
        let answer = sign_up(&world, ANN).await.expect(200);
        assert!(!answer.str("access_token").is_empty(), "{:?}", answer.json);
        assert_eq!(world.mailbox.all().len(), 0);
        world.try_password(ANN, PASSWORD).await.expect(200);
    }
}

#[tokio::test]
async fn user_that_a_trigger_refuses_is_an_error_and_gets_no_mail() {
    for builder in [World::builder(), World::builder().as_served()] {
        let world = builder.policy(|policy| policy.sign_up.anonymous_enabled = true).build().await;
        create_trigger(&world, "RETURN NULL;", "BEFORE INSERT ON auth.users").await;
        for autoconfirm in [false, true] {
            let answer = if autoconfirm {
                administer(&world, "/admin/users", json!({"email": ANN, "email_confirm": true})).await
            } else {
                sign_up(&world, ANN).await
            };
            assert_eq!(answer.refusal(), (500, "unexpected_failure"));
        }
        assert_eq!(administer(&world, "/invite", json!({"email": ANN})).await.status, 500);
        assert_eq!(world.post("/otp", json!({"email": "bob@example.com"})).await.status, 500);
        assert_eq!(world.post("/signup", json!({})).await.status, 500);
        assert_eq!((count(&world, "auth.users").await.as_str(), world.mailbox.all().len()), ("0", 0));
        assert_eq!(count(&world, "auth.identities").await, "0");
    }
}

#[tokio::test]
async fn triggers_on_updates_see_the_confirmation_of_a_new_user() {
    for builder in [World::builder(), World::builder().as_served()] {
        let world = builder.policy(|policy| policy.mail.autoconfirm = true).build().await;
        create_profiles(&world).await;
        let session = sign_up(&world, ANN).await.expect(200);
        assert_eq!(session.json["user"]["role"], "authenticated");
        let confirmed =
            json!({"email": "bob@example.com", "password": PASSWORD, "email_confirm": true, "role": "editor"});
        let made = administer(&world, "/admin/users", confirmed).await.expect(200);
        assert_eq!(made.json["role"], "editor");
        assert!(made.json["email_confirmed_at"].is_string());
        administer(&world, "/admin/users", json!({"email": "cid@example.com"})).await.expect(200);
        assert_eq!(count(&world, "public.profiles").await, "2", "the third is not confirmed");
        world.try_password("bob@example.com", PASSWORD).await.expect(200);
    }
}

#[tokio::test]
async fn trigger_that_refuses_a_step_of_a_new_user_leaves_nothing() {
    let world = World::builder().policy(|policy| policy.mail.autoconfirm = true).build().await;
    create_trigger(&world, "RAISE EXCEPTION 'no';", "BEFORE UPDATE OF email_confirmed_at ON auth.users").await;
    assert_eq!(sign_up(&world, ANN).await.status, 500);
    let confirmed = json!({"email": ANN, "email_confirm": true});
    assert_eq!(administer(&world, "/admin/users", confirmed).await.status, 500);
    assert_eq!(count(&world, "auth.users").await, "0");
}

async fn put(world: &World, token: &str, path: &str, change: &Value) {
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", bearer.as_str())];
    world.request(Method::PUT, path, &headers, Some(change.clone())).await.expect(200);
}

/// Logs each column of `auth.users` that an update names, by a trigger on that column.
async fn log_named_columns(world: &World) {
    world.database.query("CREATE TABLE public.named (column_name text)").await;
    let function = "CREATE FUNCTION public.log_column() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
                    $f$ BEGIN INSERT INTO public.named VALUES (TG_ARGV[0]); RETURN NEW; END $f$";
    world.database.query(function).await;
    let columns = "SELECT column_name::text FROM information_schema.columns
                   WHERE table_schema = 'auth' AND table_name = 'users' AND is_generated = 'NEVER'";
    for column in world.database.query(columns).await {
        let trigger = format!(
            "CREATE TRIGGER log_{column} AFTER UPDATE OF {column} ON auth.users
             FOR EACH ROW EXECUTE FUNCTION public.log_column('{column}')"
        );
        world.database.query(&trigger).await;
    }
}

/// The columns that were named since the last call, but for `updated_at`, which every update names.
async fn named_columns(world: &World) -> Vec<String> {
    let named = "SELECT DISTINCT column_name FROM public.named WHERE column_name <> 'updated_at' ORDER BY 1";
    let columns = world.database.query(named).await;
    world.database.query("DELETE FROM public.named").await;
    columns
}

/// The columns that the reference names when a password is set: the hash and every pending token.
const PASSWORD_COLUMNS: [&str; 12] = [
    "confirmation_sent_at",
    "confirmation_token",
    "email_change_sent_at",
    "email_change_token_current",
    "email_change_token_new",
    "encrypted_password",
    "phone_change_sent_at",
    "phone_change_token",
    "reauthentication_sent_at",
    "reauthentication_token",
    "recovery_sent_at",
    "recovery_token",
];

#[tokio::test]
async fn administrator_names_only_columns_that_the_request_changes() {
    for builder in [World::builder(), World::builder().as_served()] {
        let world = builder.policy(|policy| policy.sign_up.phone_enabled = true).build().await;
        log_named_columns(&world).await;
        let made = administer(&world, "/admin/users", json!({"email": ANN, "email_confirm": true})).await.expect(200);
        named_columns(&world).await;
        let path = format!("/admin/users/{}", made.str("id"));
        for (change, expected) in [
            (json!({"user_metadata": {"a": 1}}), vec!["raw_user_meta_data"]),
            (json!({"app_metadata": {"a": 1}}), vec!["raw_app_meta_data"]),
            (json!({"ban_duration": "1h"}), vec!["banned_until"]),
            (json!({"ban_duration": "none"}), vec!["banned_until"]),
            (json!({"role": "editor"}), vec!["role"]),
            (json!({"email": "bea@example.com"}), vec!["email"]),
            (json!({"phone": "15550100"}), vec!["phone"]),
            (json!({"phone_confirm": true}), vec!["confirmation_token", "phone_confirmed_at"]),
            (json!({"password": "another password"}), PASSWORD_COLUMNS.to_vec()),
            (json!({"role": "editor", "ban_duration": "none"}), vec!["banned_until", "role"]),
            (json!({"email_confirm": true}), vec!["confirmation_token", "email_confirmed_at", "raw_user_meta_data"]),
        ] {
            let token = world.service_token();
            put(&world, &token, &path, &change).await;
            assert_eq!(named_columns(&world).await, expected, "{change}");
        }
    }
}

#[tokio::test]
async fn user_names_only_columns_that_the_request_changes() {
    for builder in [World::builder(), World::builder().as_served()] {
        let world = builder.policy(|policy| policy.mail.autoconfirm = true).build().await;
        let ann = world.create_user(ANN).await;
        log_named_columns(&world).await;
        for (change, expected) in [
            (json!({"data": {"a": 1}}), vec!["raw_user_meta_data"]),
            (json!({"password": "another long password"}), PASSWORD_COLUMNS.to_vec()),
        ] {
            put(&world, &ann.access_token, "/user", &change).await;
            assert_eq!(named_columns(&world).await, expected, "{change}");
        }
        world.try_password(ANN, "another long password").await.expect(200);
        assert_eq!(named_columns(&world).await, ["last_sign_in_at"]);
    }
}

#[tokio::test]
async fn confirmations_name_only_columns_that_they_change() {
    for builder in [World::builder(), World::builder().as_served()] {
        let world = builder.policy(|policy| policy.mail.max_frequency = std::time::Duration::ZERO).build().await;
        log_named_columns(&world).await;
        sign_up(&world, ANN).await.expect(200);
        named_columns(&world).await;
        let verify =
            |kind: &'static str, email: &'static str| json!({"type": kind, "email": email, "token": world.code(email)});
        let session = world.post("/verify", verify("signup", ANN)).await.expect(200);
        let confirmation =
            ["confirmation_token", "email_confirmed_at", "last_sign_in_at", "raw_app_meta_data", "raw_user_meta_data"];
        assert_eq!(named_columns(&world).await, confirmation);
        world.post("/recover", json!({"email": ANN})).await.expect(200);
        assert_eq!(named_columns(&world).await, ["recovery_sent_at", "recovery_token"]);
        world.post("/verify", verify("recovery", ANN)).await.expect(200);
        assert_eq!(named_columns(&world).await, ["last_sign_in_at", "raw_app_meta_data", "recovery_token"]);
        world.refresh(session.str("refresh_token")).await.expect(200);
        assert_eq!(named_columns(&world).await, ["last_sign_in_at"], "as the reference does");
        let change = json!({"email": "new@example.com"});
        put(&world, session.str("access_token"), "/user", &change).await;
        let requested = [
            "email_change",
            "email_change_confirm_status",
            "email_change_sent_at",
            "email_change_token_current",
            "email_change_token_new",
        ];
        assert_eq!(named_columns(&world).await, requested);
        world.post("/verify", verify("email_change", ANN)).await.expect(200);
        assert_eq!(named_columns(&world).await, [requested[1], requested[3], requested[4]]);
        world.post("/verify", verify("email_change", "new@example.com")).await.expect(200);
        let mut applied = named_columns(&world).await;
        applied.retain(|column| !requested.contains(&column.as_str()));
        assert_eq!(applied, ["email", "last_sign_in_at", "raw_app_meta_data"]);
    }
}

#[tokio::test]
async fn new_user_names_the_columns_of_its_steps() {
    let confirmed = ["confirmation_token", "email_confirmed_at", "last_sign_in_at"];
    let named = ["raw_app_meta_data", "raw_user_meta_data", "role"];
    for (autoconfirm, expected) in [
        (true, [&confirmed[..], &named].concat()),
        (false, [&["confirmation_sent_at", "confirmation_token"][..], &named].concat()),
    ] {
        for builder in [World::builder(), World::builder().as_served()] {
            let world = builder.policy(|policy| policy.mail.autoconfirm = autoconfirm).build().await;
            log_named_columns(&world).await;
            sign_up(&world, ANN).await.expect(200);
            assert_eq!(named_columns(&world).await, expected, "{autoconfirm}");
            let body = json!({"email": "bob@example.com", "email_confirm": true});
            administer(&world, "/admin/users", body).await.expect(200);
            let created = ["confirmation_token", "email_confirmed_at", "raw_user_meta_data", "role"];
            assert_eq!(named_columns(&world).await, created);
        }
    }
}
