//! Triggers of a project on `auth.users`: what they change or refuse is what is answered, and they see what the reference
//! lets them see.

use gotrue_rs::testing::World;
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

async fn sign_up(world: &World, email: &str) -> gotrue_rs::testing::Answer {
    world.post("/signup", json!({"email": email, "password": PASSWORD})).await
}

async fn administer(world: &World, path: &str, body: Value) -> gotrue_rs::testing::Answer {
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
