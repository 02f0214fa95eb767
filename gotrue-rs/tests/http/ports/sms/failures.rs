//! What each sender's refusals become, and what comes of senders that are out of order.

use std::time::Duration;

use gotrue_rs::ports::sms::{MissingSmsSender, SmsError, SmsSender};
use serde_json::json;

use super::{
    KEY, MESSAGEBIRD, Scene, TEXTLOCAL, TWILIO, VERIFICATIONS, VONAGE, all, message, messagebird, textlocal, twilio,
    twilio_verify, vonage,
};

#[tokio::test]
async fn twilio_error_contains_message_and_more_info() {
    let refusal = json!({"code": 21211, "message": "Invalid 'To'", "more_info": "https://t/21211", "status": 400});
    for (provider, url) in [(twilio(), TWILIO), (twilio_verify(), VERIFICATIONS)] {
        let scene = Scene::with(provider).await;
        for status in [400, 401, 429, 500, 202] {
            let words = scene.error_text(url, status, &refusal).await;
            assert_eq!(words, "Invalid 'To' More information: https://t/21211");
        }
    }
}

#[tokio::test]
async fn twilio_failed_status_is_an_error() {
    let scene = Scene::with(twilio()).await;
    for status in ["failed", "undelivered"] {
        let answer = json!({"sid": "SM1", "status": status, "error_message": "landline", "error_code": "30006"});
        let words = scene.error_text(TWILIO, 201, &answer).await;
        assert_eq!(words, "twilio error: landline 30006 for message SM1");
    }
}

#[tokio::test]
async fn response_member_of_wrong_type_is_an_error() {
    for (provider, url, answer) in [
        (twilio(), TWILIO, json!({"sid": "SM1", "status": "failed", "error_code": 30006})),
        (messagebird(), MESSAGEBIRD, json!({"id": "mb1", "recipients": {"totalSentCount": 1.5}})),
        (textlocal(), TEXTLOCAL, json!({"status": "success", "messages": [{"id": 7}]})),
        (vonage(), VONAGE, json!({"messages": [{"status": 0}]})),
    ] {
        let scene = Scene::with(provider).await;
        let error = scene.send(url, 201, &answer).await.expect_err("it is not sent");
        assert!(matches!(error, SmsError::Unreadable { .. }), "{url}: {error:?}");
    }
}

#[tokio::test]
async fn response_members_match_case_insensitively() {
    let scene = Scene::with(vonage()).await;
    let sent = scene.send(VONAGE, 200, &json!({"MESSAGES": [{"Status": "0", "Message-ID": "v1"}]})).await;
    assert_eq!(sent.expect("it is sent").as_deref(), Some("v1"));
}

#[tokio::test]
async fn messagebird_errors_contain_description_or_missing_recipients() {
    let scene = Scene::with(messagebird()).await;
    let refusal = json!({"errors": [{"code": 9, "description": "no (correct) recipients"}, {"description": "more"}]});
    for status in [400, 401, 403, 422] {
        assert_eq!(scene.error_text(MESSAGEBIRD, status, &refusal).await, "no (correct) recipients");
    }
    assert_eq!(scene.error_text(MESSAGEBIRD, 401, &json!({"errors": []})).await, "messagebird error: status 401");
    let unknown = "messagebird error: total sent count is 0";
    for (status, answer) in [
        (200, json!({"id": "mb1", "recipients": {"totalSentCount": 0}})),
        (201, json!({"id": "mb1", "recipients": null})),
        (500, refusal.clone()),
    ] {
        assert_eq!(scene.error_text(MESSAGEBIRD, status, &answer).await, unknown);
    }
}

#[tokio::test]
async fn textlocal_refuses_with_a_code() {
    let scene = Scene::with(textlocal()).await;
    let failure =
        |code| json!({"status": "failure", "errors": [{"code": code, "message": "No"}], "messages": [{"id": "7"}]});
    assert_eq!(scene.error_text(TEXTLOCAL, 200, &failure(4)).await, "textlocal error: No (code: 4) message 7");
    let unregistered = scene.error_text(TEXTLOCAL, 200, &failure(80)).await;
    assert_eq!(unregistered, "textlocal error: No (code: 80) template message: Your code is 123456");
    let bare = scene.error_text(TEXTLOCAL, 500, &json!({"status": "failure"})).await;
    assert_eq!(bare, "textlocal error:  (code: 0) message ");
}

#[tokio::test]
async fn vonage_refuses_with_the_status_of_the_first_part() {
    let scene = Scene::with(vonage()).await;
    let refusal = json!({"messages": [{"status": "2", "error-text": "Missing to", "message-id": "v1"}]});
    let words = scene.error_text(VONAGE, 200, &refusal).await;
    assert_eq!(words, "vonage error: Missing to (status: 2) for message v1");
    for nothing in [json!({"messages": []}), json!({}), json!(null)] {
        assert_eq!(scene.error_text(VONAGE, 200, &nothing).await, "vonage error: Internal Error");
    }
}

#[tokio::test]
async fn unreadable_response_names_only_the_provider() {
    for (provider, url) in all() {
        let scene = Scene::with(provider).await;
        for answer in
            ["<html>out of order</html>".to_owned(), "[1]".to_owned(), format!("{{\"x\":\"{}\"}}", "x".repeat(99_999))]
        {
            let error = scene.send(url, 500, &answer).await.expect_err("it is not sent");
            assert!(matches!(error, SmsError::Unreadable { status: 500, .. }), "{url}: {error:?}");
            assert!(
                error.client_message().ends_with(" answered 500 with what cannot be read"),
                "{}",
                error.client_message()
            );
        }
    }
}

#[tokio::test]
async fn unresponsive_provider_times_out() {
    for (provider, url) in all() {
        let scene = Scene::within(provider, Duration::from_millis(300)).await;
        scene.internet.put_late(url, 200, &json!({}), Duration::from_secs(30));
        let error = scene.sender.send(&message("sms", "Your code is 123456")).await.expect_err("it is not sent");
        assert!(matches!(error, SmsError::Transport { .. }), "{url}: {error:?}");
        assert!(error.client_message().ends_with(" cannot be reached"), "{}", error.client_message());
    }
}

#[tokio::test]
async fn errors_contain_no_key_number_or_code() {
    let echo = format!("{KEY} is wrong");
    for (provider, url) in all() {
        let scene = Scene::within(provider, Duration::from_millis(300)).await;
        let echoing = json!({
            "message": echo, "more_info": echo,
            "errors": [{"description": echo, "message": echo, "code": 3}],
            "messages": [{"status": "4", "error-text": echo}],
        });
        let mut errors = vec![scene.send(url, 401, &echoing).await.expect_err("it is refused")];
        assert!(errors[0].client_message().contains("*** is wrong"), "{}", errors[0].client_message());
        errors.push(scene.send(url, 500, &echo).await.expect_err("it cannot be read"));
        scene.internet.put_late(url, 200, &json!({}), Duration::from_secs(30));
        errors.push(scene.sender.send(&message("sms", "x")).await.expect_err("it is late"));
        for error in errors {
            let reported = format!("{error} {error:?} {}", error.client_message());
            for secret in [KEY, "QUMxOmEtc2VjcmV0K2tleQ", "15550100001", "123456"] {
                assert!(!reported.contains(secret), "{url}: {reported}");
            }
        }
        assert!(!format!("{:?}", scene.sender).contains(KEY), "{url}");
    }
}

#[tokio::test]
async fn whatsapp_is_refused_by_providers_without_it() {
    for (provider, name) in [(messagebird(), "Messagebird"), (textlocal(), "TextLocal"), (vonage(), "Vonage")] {
        let scene = Scene::with(provider).await;
        let refused = scene.sender.send(&message("whatsapp", "x")).await.expect_err("it is refused").client_message();
        assert_eq!(refused, format!("channel type \"whatsapp\" is not supported for {name}"));
        assert_eq!(scene.internet.take_requests(), []);
    }
}

#[tokio::test]
async fn without_a_sender_nothing_is_sent() {
    assert!(matches!(MissingSmsSender.send(&message("sms", "x")).await, Err(SmsError::NoProvider)));
}
