use gotrue_rs::testing::World;
use serde_json::json;

use super::{ANN, assurance};

#[tokio::test]
async fn a_verified_factor_goes_only_from_a_session_that_has_shown_one() {
    let world = World::new().await;
    let (ann, app) = world.protected(ANN).await;
    let weak = world.sign_in(ANN).await;
    assert_eq!(world.unenroll(&weak.access_token, &app.id).await.refusal(), (422, "insufficient_aal"));
    let gone = world.unenroll(&ann.access_token, &app.id).await.expect(200);
    assert_eq!(gone.json, json!({ "id": app.id }));
    assert_eq!(world.unenroll(&ann.access_token, &app.id).await.refusal(), (404, "mfa_factor_not_found"));
}

#[tokio::test]
async fn sessions_that_the_factor_lifted_fall_back_and_live_on() {
    let world = World::new().await;
    let (ann, app) = world.protected(ANN).await;
    world.unenroll(&ann.access_token, &app.id).await.expect(200);
    let back = world.refresh(&ann.refresh_token).await.expect(200);
    assert_eq!(assurance(&world, back.str("access_token")), ("aal1".to_owned(), vec!["otp".to_owned()]));
    let stored = "SELECT concat_ws(' ', aal, coalesce(factor_id::text, 'none')) FROM auth.sessions";
    assert_eq!(world.database.query(stored).await, ["aal1 none"]);
}

#[tokio::test]
async fn an_unverified_factor_goes_from_any_session() {
    let world = World::new().await;
    let ann = world.person(ANN).await;
    let app = world.app_factor(&ann, "").await;
    world.unenroll(&ann.access_token, &app.id).await.expect(200);
}

#[tokio::test]
async fn a_lift_at_the_moment_of_the_removal_does_not_stay() {
    let world = World::new().await;
    let (ann, app) = world.protected(ANN).await;
    let weak = world.sign_in(ANN).await;
    let asked = world.challenge(&weak.access_token, &app.id).await.expect(200);
    let gate = world.faults.wait("COMMIT", 1);
    let code = world.app_code(&app);
    let lift = world.answer(&weak.access_token, &app.id, asked.str("id"), &code);
    let remove = async {
        gate.reached().await;
        let removal = world.unenroll(&ann.access_token, &app.id);
        let open = async { gate.open() };
        tokio::join!(removal, open).0
    };
    let (lifted, removed) = tokio::join!(lift, remove);
    lifted.expect(200);
    removed.expect(200);
    let stored = "SELECT DISTINCT concat_ws(' ', aal, coalesce(factor_id::text, 'none')) FROM auth.sessions";
    assert_eq!(world.database.query(stored).await, ["aal1 none"]);
}
