use gotrue_rs::testing::World;
use serde_json::json;

use super::{ANN, assurance};

#[tokio::test]
async fn unenrolling_a_verified_factor_requires_aal2() {
    let world = World::new().await;
    let (ann, app) = world.create_user_with_totp(ANN).await;
    let weak = world.sign_in(ANN).await;
    assert_eq!(world.unenroll(&weak.access_token, &app.id).await.refusal(), (422, "insufficient_aal"));
    let gone = world.unenroll(&ann.access_token, &app.id).await.expect(200);
    assert_eq!(gone.json, json!({ "id": app.id }));
    assert_eq!(world.unenroll(&ann.access_token, &app.id).await.refusal(), (404, "mfa_factor_not_found"));
}

#[tokio::test]
async fn unenrolling_downgrades_elevated_sessions_to_aal1() {
    let world = World::new().await;
    let (ann, app) = world.create_user_with_totp(ANN).await;
    world.unenroll(&ann.access_token, &app.id).await.expect(200);
    let back = world.refresh(&ann.refresh_token).await.expect(200);
    assert_eq!(assurance(&world, back.str("access_token")), ("aal1".to_owned(), vec!["otp".to_owned()]));
    let stored = "SELECT concat_ws(' ', aal, coalesce(factor_id::text, 'none')) FROM auth.sessions";
    assert_eq!(world.database.query(stored).await, ["aal1 none"]);
}

#[tokio::test]
async fn unverified_factor_can_be_unenrolled_at_aal1() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let app = world.enroll_totp(&ann, "").await;
    world.unenroll(&ann.access_token, &app.id).await.expect(200);
}

#[tokio::test]
async fn elevation_concurrent_with_unenrollment_does_not_persist() {
    let world = World::new().await;
    let (ann, app) = world.create_user_with_totp(ANN).await;
    let weak = world.sign_in(ANN).await;
    let response = world.create_challenge(&weak.access_token, &app.id).await.expect(200);
    let gate = world.faults.wait("COMMIT", 1);
    let code = world.totp_code(&app);
    let lift = world.verify_challenge(&weak.access_token, &app.id, response.str("id"), &code);
    let remove = async {
        gate.wait_until_reached().await;
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
