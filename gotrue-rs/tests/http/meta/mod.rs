//! What the server tells about itself.

use gotrue_rs::testing::World;

#[tokio::test]
async fn health_names_the_server_without_asking_the_database() {
    let world = World::new().await;
    let answer = world.get("/health").await.expect(200);
    assert_eq!(answer.str("name"), "GoTrue");
    assert!(world.journal().statements().is_empty());
}

#[tokio::test]
async fn an_unknown_path_is_told_in_plain_text() {
    let world = World::new().await;
    let answer = world.get("/nowhere").await.expect(404);
    assert_eq!(answer.text, "404 page not found\n");
}
