use super::*;

#[test]
fn session_data_of_reference_is_parsed() {
    let text = r#"{"challenge":"YWJj","rpId":"example.com","user_id":null,"allowed_credentials":["AQI="],
        "expires":"0001-01-01T00:00:00Z","userVerification":"","extensions":{"x":1}}"#;
    let session: SessionData = serde_json::from_str(text).unwrap();
    assert_eq!((session.challenge.as_str(), session.user_verification), ("YWJj", None));
    assert!(session.allows(&[1, 2]) && !session.allows(&[1, 3]));
}

#[test]
fn session_data_round_trips() {
    for session in [
        SessionData::for_creation("example.com", "YWJj", "ann", Some(UserVerification::Preferred)),
        SessionData::for_request("example.com", "YWJj", None).with_allowed_credentials("ann", [[1u8, 2].as_slice()]),
    ] {
        let text = serde_json::to_string(&session).unwrap();
        assert_eq!(serde_json::from_str::<SessionData>(&text).unwrap(), session, "{text}");
    }
}

#[test]
fn credential_record_of_reference_is_parsed() {
    let text = r#"{"id":"AQI=","publicKey":"AwQ=","attestationType":"none","transport":null,
        "flags":{"userPresent":true,"userVerified":true,"backupEligible":false,"backupState":false},
        "authenticator":{"AAGUID":"AAAAAAAAAAAAAAAAAAAAAA==","signCount":7,"cloneWarning":false,"attachment":""},
        "attestation":{"clientDataJSON":"e30="}}"#;
    let key: CredentialRecord = serde_json::from_str(text).unwrap();
    assert_eq!((key.id.as_slice(), key.public_key.as_slice()), ([1, 2].as_slice(), [3, 4].as_slice()));
    assert_eq!((key.authenticator.sign_count, key.authenticator.aaguid.len()), (7, 16));
    let again = serde_json::to_string(&key).unwrap();
    assert_eq!(serde_json::from_str::<CredentialRecord>(&again).unwrap(), key, "{again}");
}

#[test]
fn session_data_distinguishes_ceremonies() {
    assert!(SessionData::for_creation("example.com", "YWJj", "ann", None).is_creation());
    assert!(!SessionData::for_request("example.com", "YWJj", None).is_creation());
}

#[test]
fn absent_options_are_omitted() {
    let requested = serde_json::to_string(&RequestOptions::new("example.com", "YWJj")).unwrap();
    assert_eq!(requested, r#"{"challenge":"YWJj","timeout":300000,"rpId":"example.com"}"#);
}
