//! The request of each SMS provider.

use serde_json::json;

use super::{
    CHECK, MESSAGEBIRD, Scene, TEXTLOCAL, TWILIO, VERIFICATIONS, VONAGE, form, members, message, messagebird,
    textlocal, twilio, twilio_verify, vonage,
};
use foundation::secret::Secret;
use gotrue_rules::domain::policy::SmsProvider;

/// `AC1:a-secret+key`.
const BASIC: &str = "Basic QUMxOmEtc2VjcmV0K2tleQ==";

#[tokio::test]
async fn twilio_request_is_a_form_with_basic_auth() {
    let scene = Scene::with(twilio()).await;
    let sent = scene.send(TWILIO, 201, &json!({"sid": "SM1", "status": "queued", "error_code": null})).await;
    assert_eq!(sent.expect("it is sent").as_deref(), Some("SM1"));
    let request = scene.recorded_request();
    assert_eq!((request.method.as_str(), request.url.as_str()), ("POST", TWILIO));
    assert_eq!(request.headers["authorization"], BASIC);
    let expected = [("Body", "Your code is 123456"), ("Channel", "sms"), ("From", "MG1"), ("To", "+15550100001")];
    assert_eq!(form(&request), members(expected));
}

#[tokio::test]
async fn whatsapp_prefixes_numbers_but_not_the_service_id() {
    for (from, named) in [("MG1", "MG1"), ("+1 555 0100", "whatsapp:+1 555 0100"), ("15550100", "whatsapp:15550100")] {
        let scene = Scene::with(SmsProvider::Twilio {
            account_sid: "AC1".into(),
            auth_token: Secret::new("x"),
            message_service_sid: from.into(),
            content_sid: String::new(),
        });
        let scene = scene.await;
        scene.internet.put(TWILIO, 200, &json!({"sid": "SM1", "status": "accepted"}));
        scene.sender.send(&message("whatsapp", "Your code is 123456")).await.expect("it is sent");
        let expected = [
            ("Body", "Your code is 123456"),
            ("Channel", "whatsapp"),
            ("From", named),
            ("To", "whatsapp:+15550100001"),
        ];
        assert_eq!(form(&scene.recorded_request()), members(expected));
    }
}

#[tokio::test]
async fn whatsapp_content_template_contains_the_code() {
    let provider = SmsProvider::Twilio {
        account_sid: "AC1".into(),
        auth_token: Secret::new("x"),
        message_service_sid: "MG1".into(),
        content_sid: "HX1".into(),
    };
    let scene = Scene::with(provider).await;
    scene.internet.put(TWILIO, 200, &json!({"sid": "SM1", "status": "accepted"}));
    scene.sender.send(&message("whatsapp", "Your code is 123456")).await.expect("it is sent");
    let expected = [
        ("Channel", "whatsapp"),
        ("ContentSid", "HX1"),
        ("ContentVariables", r#"{"1": "123456"}"#),
        ("From", "MG1"),
        ("To", "whatsapp:+15550100001"),
    ];
    assert_eq!(form(&scene.recorded_request()), members(expected));

    scene.sender.send(&message("sms", "Your code is 123456")).await.expect("it is sent");
    assert_eq!(form(&scene.recorded_request())["Body"], "Your code is 123456", "a text has no content template");
}

#[tokio::test]
async fn twilio_verify_generates_the_code() {
    let scene = Scene::with(twilio_verify()).await;
    let sent = scene.send(VERIFICATIONS, 201, &json!({"sid": "VE1", "status": "pending", "valid": false})).await;
    assert_eq!(sent.expect("it is sent").as_deref(), Some("VE1"));
    let request = scene.recorded_request();
    assert_eq!((request.method.as_str(), request.url.as_str()), ("POST", VERIFICATIONS));
    assert_eq!(request.headers["authorization"], BASIC);
    assert_eq!(form(&request), members([("Channel", "sms"), ("To", "+15550100001")]));

    scene.sender.send(&message("whatsapp", "unused")).await.expect("it is sent");
    assert_eq!(form(&scene.recorded_request()), members([("Channel", "whatsapp"), ("To", "+15550100001")]));
}

#[tokio::test]
async fn twilio_verify_checks_the_code() {
    let scene = Scene::with(twilio_verify()).await;
    let check = || scene.sender.verify_code("15550100001", "654321");
    for (status, answer, is_right) in [
        (200, json!({"status": "approved", "valid": true}), true),
        (201, json!({"status": "approved", "valid": true}), true),
        (200, json!({"status": "approved", "valid": false}), false),
        (200, json!({"status": "pending", "valid": true}), false),
        (202, json!({"status": "approved", "valid": true}), false),
        (404, json!({"code": 20404, "message": "not found", "more_info": "https://x", "status": 404}), false),
        (200, json!({"status": "approved", "valid": "true"}), false),
        (200, json!([]), false),
    ] {
        scene.internet.put(CHECK, status, &answer);
        assert_eq!(check().await.is_ok(), is_right, "{status} {answer}");
        let request = scene.recorded_request();
        assert_eq!((request.method.as_str(), request.url.as_str()), ("POST", CHECK));
        assert_eq!(request.headers["authorization"], BASIC);
        assert_eq!(form(&request), members([("Code", "654321"), ("To", "+15550100001")]));
    }
}

#[tokio::test]
async fn only_twilio_verify_checks_codes() {
    for provider in [twilio(), messagebird(), textlocal(), vonage()] {
        let scene = Scene::with(provider).await;
        assert!(scene.sender.verify_code("15550100001", "123456").await.is_err());
        assert_eq!(scene.internet.take_requests(), []);
    }
}

#[tokio::test]
async fn messagebird_request_is_a_form_with_access_key() {
    let scene = Scene::with(messagebird()).await;
    let sent = scene.send(MESSAGEBIRD, 201, &json!({"id": "mb1", "recipients": {"totalSentCount": 1}})).await;
    assert_eq!(sent.expect("it is sent").as_deref(), Some("mb1"));
    let request = scene.recorded_request();
    assert_eq!((request.method.as_str(), request.url.as_str()), ("POST", MESSAGEBIRD));
    assert_eq!(request.headers["authorization"], "AccessKey a-secret+key");
    let expected = [
        ("body", "Your code is 123456"),
        ("datacoding", "unicode"),
        ("originator", "Shop"),
        ("recipients", "15550100001"),
        ("type", "sms"),
    ];
    assert_eq!(form(&request), members(expected));
}

#[tokio::test]
async fn textlocal_request_is_a_form_with_api_key() {
    let scene = Scene::with(textlocal()).await;
    let sent = scene.send(TEXTLOCAL, 200, &json!({"status": "success", "messages": [{"id": "t1"}]})).await;
    assert_eq!(sent.expect("it is sent").as_deref(), None, "as recorded, its id is not returned");
    let request = scene.recorded_request();
    assert_eq!((request.method.as_str(), request.url.as_str()), ("POST", TEXTLOCAL));
    assert_eq!(request.headers.get("authorization"), None);
    let expected = [
        ("apikey", "a-secret+key"),
        ("message", "Your code is 123456"),
        ("numbers", "15550100001"),
        ("sender", "Shop"),
    ];
    assert_eq!(form(&request), members(expected));
}

#[tokio::test]
async fn vonage_request_is_a_form_with_key_and_secret() {
    let scene = Scene::with(vonage()).await;
    let taken = json!({"message-count": "1", "messages": [{"message-id": "v1", "status": "0"}]});
    let sent = scene.send(VONAGE, 200, &taken).await;
    assert_eq!(sent.expect("it is sent").as_deref(), Some("v1"));
    let request = scene.recorded_request();
    assert_eq!((request.method.as_str(), request.url.as_str()), ("POST", VONAGE));
    let expected = [
        ("api_key", "k1"),
        ("api_secret", "a-secret+key"),
        ("from", "Shop"),
        ("text", "Your code is 123456"),
        ("to", "15550100001"),
    ];
    assert_eq!(form(&request), members(expected));

    scene.sender.send(&message("sms", "Dein Code für heute: 123456")).await.expect("it is sent");
    let form = form(&scene.recorded_request());
    assert_eq!((form["type"].as_str(), form["text"].as_str()), ("unicode", "Dein Code für heute: 123456"));
}
