//! C: one-time secrets and tokens that are burnt, late, cut off or altered.

use chrono::TimeDelta;
use gotrue_rs::testing::{PASSWORD, World};
use http::Method;
use serde_json::json;

const ANN: &str = "ann@example.com";

async fn waiting() -> World {
    let world = World::new().await;
    world.post("/signup", json!({"email": ANN, "password": PASSWORD})).await.expect(200);
    world
}

/// The same text with one character changed, cut off, doubled, or in other letters.
fn mutations(text: &str) -> Vec<String> {
    let swapped = |at: usize| {
        let mut bytes = text.as_bytes().to_vec();
        bytes[at] = if bytes[at] == b'b' { b'c' } else { b'b' };
        String::from_utf8(bytes).unwrap_or_default()
    };
    let mut all: Vec<String> = [0, text.len() / 3, text.len() / 2, text.len() - 2].map(swapped).into();
    all.extend([1, text.len() / 2, text.len() - 1].map(|end| text[..end].to_owned()));
    all.extend([
        format!("{text}{text}"),
        format!("{text}b"),
        format!(" {text}"),
        format!("{text}%"),
        text.to_uppercase(),
    ]);
    all.retain(|mutation| mutation != text);
    all
}

#[tokio::test]
async fn c4_prefetch_does_not_consume_a_link() {
    let world = waiting().await;
    let link = world.link(ANN);
    world.request(Method::HEAD, &link, &[], None).await.expect(405);
    world.request(Method::OPTIONS, &link, &[("access-control-request-method", "GET")], None).await.expect(204);
    for header in [
        ("sec-purpose", "prefetch"),
        ("sec-purpose", "prefetch;prerender"),
        ("purpose", "prefetch"),
        ("x-purpose", "preview"),
        ("x-moz", "prefetch"),
    ] {
        let answer = world.request(Method::GET, &link, &[header], None).await.expect(503);
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(answer.header("location"), "");
    }
    assert!(world.get(&link).await.expect(303).header("location").contains("access_token="));
}

#[tokio::test]
async fn c4_token_is_valid_until_its_exact_expiry() {
    for (late, status) in [(0, 200), (1, 403)] {
        let world = waiting().await;
        world.advance(TimeDelta::hours(24) + TimeDelta::microseconds(late));
        let body = json!({"type": "signup", "email": ANN, "token": world.code(ANN)});
        world.post("/verify", body).await.expect(status);
    }
    for (late, found) in [(0, "access_token="), (1, "error_code=otp_expired")] {
        let world = waiting().await;
        world.advance(TimeDelta::hours(24) + TimeDelta::microseconds(late));
        let answer = world.get(&world.link(ANN)).await.expect(303);
        assert!(answer.header("location").contains(found), "{}", answer.header("location"));
    }
}

#[tokio::test]
async fn c5_modified_or_truncated_link_token_is_refused() {
    let world = waiting().await;
    let link = world.link(ANN);
    let (_, rest) = link.split_once("token=").expect("a token");
    let hash = rest.split('&').next().unwrap_or_default();
    for altered in mutations(hash) {
        let body = json!({"type": "signup", "token_hash": altered});
        let answer = world.post("/verify", body).await;
        assert_eq!(answer.refusal(), (403, "otp_expired"), "{altered}");
    }
    world.get(&link).await.expect(303);
}

#[tokio::test]
async fn c5_modified_or_truncated_code_is_refused() {
    let world = waiting().await;
    let code = world.code(ANN);
    let mut tries = mutations(&code);
    tries.extend([format!("0{code}"), format!("{code}\n"), format!("+{code}")]);
    for altered in tries {
        let answer = world.post("/verify", json!({"type": "signup", "email": ANN, "token": altered})).await;
        assert_eq!(answer.refusal(), (403, "otp_expired"), "{altered}");
    }
    // The digits of a code must not move into the address: both are hashed as one text.
    let (first, rest) = code.split_at(1);
    let moved = json!({"type": "signup", "email": format!("{ANN}{first}"), "token": rest});
    assert_eq!(world.post("/verify", moved).await.refusal(), (403, "otp_expired"));
}

#[tokio::test]
async fn c5_modified_or_truncated_refresh_token_is_refused() {
    for version in [1, 2] {
        let world = World::with(|policy| policy.refresh.algorithm_version = version).await;
        let user = world.create_user(ANN).await;
        for altered in mutations(&user.refresh_token) {
            let answer = world.refresh(&altered).await;
            assert!(
                matches!(answer.refusal(), (400, "validation_failed" | "refresh_token_not_found")),
                "{altered}: {}",
                answer.text
            );
        }
        world.refresh(&user.refresh_token).await.expect(200);
    }
}

#[tokio::test]
async fn c5_modified_or_truncated_access_token_is_refused() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    let token = &user.access_token;
    let parts: Vec<&str> = token.split('.').collect();
    let none = "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0";
    let mut forged: Vec<String> =
        mutations(token).into_iter().filter(|mutation| !mutation.contains([' ', '%'])).collect();
    forged.extend([
        format!("{none}.{}.", parts[1]),
        format!("{none}.{}.{}", parts[1], parts[2]),
        format!("{}.{}.", parts[0], parts[1]),
        format!("{}.{}", parts[0], parts[1]),
        format!("{}.{}.{}", parts[0], parts[2], parts[1]),
        format!("{}..{}", parts[0], parts[2]),
    ]);
    for token in forged {
        assert_eq!(world.get_as(&token, "/user").await.refusal(), (403, "bad_jwt"), "{token}");
    }
}

#[tokio::test]
async fn c5_token_of_another_server_is_refused() {
    let ours = World::new().await;
    let user = ours.create_user(ANN).await;
    let claims = json!({"sub": user.id, "session_id": user.session, "role": "service_role",
                        "exp": ours.now().timestamp() + 60});
    let secret = foundation::secret::Secret::new("another-secret-that-is-long-enough-too");
    let settings = gotrue_rs::ports::keys::KeySettings { jwks: &[], secret: &secret, key_id: "", valid_methods: None };
    let theirs = gotrue_rs::ports::keys::KeyRing::build(settings).expect("keys");
    let forged = theirs.sign(&claims).expect("a token");
    assert_eq!(ours.get_as(&forged, "/user").await.refusal(), (403, "bad_jwt"));
}
