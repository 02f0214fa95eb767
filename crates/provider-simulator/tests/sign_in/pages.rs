//! The page for choosing a user.

use http::{Method, StatusCode};

use crate::support::{Trial, path_of};

#[tokio::test]
async fn chosen_user_signs_in_and_denial_returns() {
    let trial = Trial::new().await;
    for provider in ["google", "github", "twitter"] {
        let url = trial.start(provider, "").await;
        let page = trial.send(Method::GET, &url, &[], "").await;
        assert_eq!(page.status, StatusCode::OK);
        let action = page.text.split("action=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("an action");
        assert_eq!(action.replace("&amp;", "&"), path_of(&url));
        let chosen = trial.send(Method::POST, &url, &[], "person=ann").await;
        assert_eq!(trial.user(&trial.return_from(&chosen).await).await.str("email"), "ann@example.com", "{provider}");
        let url = trial.start(provider, "").await;
        let denied = trial.send(Method::POST, &url, &[], "person=nobody").await;
        assert!(trial.return_from(&denied).await.fragment("access_token").is_empty());
    }
}

#[tokio::test]
async fn entered_user_signs_in_and_invalid_address_shows_the_page_again() {
    let trial = Trial::new().await;
    let url = trial.start("google", "").await;
    let again = trial.send(Method::POST, &url, &[], "person=other&email=no+address").await;
    assert_eq!(again.status, StatusCode::OK);
    assert!(again.text.contains("value=\"no address\""), "{}", again.text);
    let form = "person=other&email=Zoe@example.com&verified=yes";
    let back = trial.return_from(&trial.send(Method::POST, &url, &[], form).await).await;
    let user = trial.user(&back).await;
    assert_eq!((user.str("email"), user.str("identities/0/id")), ("zoe@example.com", "dev-zoe@example.com"));
}

#[tokio::test]
async fn page_escapes_all_parameters_and_allows_no_script() {
    let trial = Trial::new().await;
    let hostile = "%22%3E%3Cscript%3Ealert(1)%3C/script%3E";
    let url = trial.start("google", &format!("&login_hint={hostile}&x={hostile}")).await;
    let page = trial.send(Method::GET, &format!("{url}&y={hostile}&'%3E"), &[], "").await;
    assert!(!page.text.contains("<script"), "{}", page.text);
    let policy = page.headers["content-security-policy"].to_str().expect("text");
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("script-src"), "{policy}");
}

#[tokio::test]
async fn request_of_another_client_or_to_another_callback_is_refused() {
    let trial = Trial::new().await;
    let url = trial.start("google", "&prompt=none&login_hint=ann").await;
    let callback = "redirect_uri=http%3A%2F%2Fauth.example.com%2Fcallback";
    assert!(url.contains(callback), "{url}");
    for (from, to) in [
        (callback, "redirect_uri=http%3A%2F%2Fevil.example%2Fcallback"),
        (callback, "redirect_uri=http%3A%2F%2Fauth.example.com%2Fcallback%3Fx"),
        ("client_id=basalt", "client_id=x"),
        ("response_type=code", "response_type=token"),
    ] {
        for method in [Method::GET, Method::POST] {
            let refused = trial.send(method, &url.replace(from, to), &[], "person=ann").await;
            assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{to}");
            assert!(!refused.text.contains("evil"), "{}", refused.text);
        }
    }
    let url = trial.start("x", "").await;
    let (without, _) = url.split_once("code_challenge=").expect("PKCE");
    assert_eq!(trial.send(Method::GET, without, &[], "").await.status, StatusCode::BAD_REQUEST);
}
