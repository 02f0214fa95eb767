use chrono::TimeDelta;
use gotrue_rs::testing::{PASSWORD, TestUser};
use serde_json::json;

use super::in_turns;

#[tokio::test]
async fn user_signs_in_after_restart() {
    in_turns(async |turn| {
        let ann = turn.first.create_user(&turn.new_address()).await;
        let again = turn.second.sign_in(&ann.email).await;
        assert_eq!(again.id, ann.id);
        turn.first.get_as(&again.access_token, "/user").await.expect(200);
        let wrong = turn.second.try_password(&ann.email, "battery staple").await;
        assert_eq!(wrong.refusal(), (400, "invalid_credentials"));
    })
    .await;
}

#[tokio::test]
async fn session_is_refreshed_across_servers() {
    in_turns(async |turn| {
        let mut ann = turn.first.create_user(&turn.new_address()).await;
        for world in [turn.second, turn.first, turn.second] {
            world.advance(TimeDelta::minutes(59));
            world.get_as(&ann.access_token, "/user").await.expect(200);
            let next = TestUser::from_session(&world.refresh(&ann.refresh_token).await);
            assert_eq!((&next.id, &next.session), (&ann.id, &ann.session));
            assert_ne!(next.refresh_token, ann.refresh_token);
            ann = next;
        }
    })
    .await;
}

#[tokio::test]
async fn used_token_is_known_as_used_after_restart() {
    in_turns(async |turn| {
        let ann = turn.first.create_user(&turn.new_address()).await;
        let child = TestUser::from_session(&turn.first.refresh(&ann.refresh_token).await);
        let grandchild = TestUser::from_session(&turn.second.refresh(&child.refresh_token).await);
        turn.first.advance(TimeDelta::minutes(1));
        let used = (400, "refresh_token_already_used");
        assert_eq!(turn.second.refresh(&ann.refresh_token).await.refusal(), used);
        turn.first.advance(TimeDelta::seconds(1));
        let ended = turn.first.refresh(&grandchild.refresh_token).await;
        assert_eq!(ended.status, 400, "{}", ended.text);
    })
    .await;
}

#[tokio::test]
async fn sign_out_is_effective_after_restart() {
    in_turns(async |turn| {
        let ann = turn.first.create_user(&turn.new_address()).await;
        let other = turn.second.sign_in(&ann.email).await;
        turn.second.post_as(&ann.access_token, "/logout?scope=local", json!({})).await.expect(204);
        let refused = turn.first.get_as(&ann.access_token, "/user").await;
        assert_eq!(refused.refusal(), (403, "session_not_found"));
        assert_eq!(turn.first.refresh(&ann.refresh_token).await.refusal(), (400, "refresh_token_not_found"));
        turn.first.refresh(&other.refresh_token).await.expect(200);
    })
    .await;
}

#[tokio::test]
async fn changed_password_is_effective_after_restart() {
    in_turns(async |turn| {
        let ann = turn.first.create_user(&turn.new_address()).await;
        turn.second.put_as(&ann.access_token, "/user", json!({"password": "battery staple"})).await.expect(200);
        turn.first.try_password(&ann.email, "battery staple").await.expect(200);
        let old = turn.first.try_password(&ann.email, PASSWORD).await;
        assert_eq!(old.refusal(), (400, "invalid_credentials"));
    })
    .await;
}
