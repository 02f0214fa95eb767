//! Accounts by the command line, beside a server that runs and without one.

use std::process::{Output, Stdio};

use serde_json::{Value, json};

use super::support::{Basalt, Scratch, basalt};

/// The bcrypt hash of `password1`.
const HASH: &str = "$2b$04$IF2TMY3joum/3o1mpkWu6OzgaHAsDzoIujGuY5mJBFzRIuhQIMqIK";

struct Accounts {
    scratch: Scratch,
}

impl Accounts {
    fn new() -> Self {
        let scratch = Scratch::new();
        scratch.write("config.toml", "");
        Self { scratch }
    }

    fn data(&self) -> String {
        self.scratch.path("data")
    }

    fn ask(&self, arguments: &[&str]) -> Output {
        let config = self.scratch.path("config.toml");
        let place = ["users", "--config", &config, "--data", &self.data()];
        basalt().args(place).args(arguments).stdin(Stdio::null()).output().expect("the program starts")
    }

    /// What a command that succeeds says, on both its outputs.
    #[track_caller]
    fn told(&self, arguments: &[&str]) -> String {
        let output = self.ask(arguments);
        let text = said(&output);
        assert!(output.status.success(), "{arguments:?}: {text}");
        text
    }

    /// What a command that fails says.
    #[track_caller]
    fn refused(&self, arguments: &[&str]) -> String {
        let output = self.ask(arguments);
        assert!(!output.status.success(), "{arguments:?} succeeded: {}", said(&output));
        said(&output)
    }

    fn listed(&self) -> Vec<Value> {
        let text = self.told(&["list", "--json"]);
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[tokio::test]
async fn an_account_is_made_found_banned_and_deleted_beside_a_running_server() {
    let accounts = Accounts::new();
    let config = accounts.scratch.path("config.toml");
    let server = Basalt::serve(&["--config", &config, "--data", &accounts.data()]);
    let made = accounts.told(&["add", "Ann@example.com", "--confirmed", "--data", "{\"size\": \"L\"}"]);
    assert!(made.contains("Made ann@example.com with the id"), "{made}");
    assert!(accounts.told(&["show", "ANN@example.com"]).contains("\"size\": \"L\""));

    let line = json!({"email": "bea@example.com", "email_verified": true, "password_hash": HASH});
    let file = accounts.scratch.write("people.jsonl", &line.to_string());
    assert!(accounts.told(&["import", &file]).contains("Imported 1 account,"));
    let body = json!({"email": "bea@example.com", "password": "password1"});
    let signed_in = |body: Value| server.auth("/token?grant_type=password", Some(body));
    assert_eq!(signed_in(body.clone()).await.0, 200);
    accounts.told(&["ban", "bea@example.com", "--for", "1h"]);
    assert_eq!(signed_in(body.clone()).await.1["error_code"], "user_banned");
    accounts.told(&["ban", "bea@example.com", "--lift"]);
    assert_eq!(signed_in(body).await.0, 200);

    assert!(accounts.refused(&["delete", "bea@example.com"]).contains("--yes does not ask"));
    accounts.told(&["delete", "bea@example.com", "--yes"]);
    assert!(accounts.refused(&["show", "bea@example.com"]).contains("nobody has the address"));
    assert_eq!(accounts.listed().len(), 1);
}

#[test]
fn what_is_exported_comes_back_as_it_was() {
    let accounts = Accounts::new();
    let id = "10000000-0000-4000-8000-000000000001";
    let line = json!({
        "id": id, "email": "ann@example.com", "phone": "+1 555 010 0001", "password_hash": HASH,
        "email_confirmed_at": "2024-05-06T07:08:09.123456Z", "created_at": "2023-01-02T03:04:05Z",
        "last_sign_in_at": "2024-06-01T00:00:00Z", "banned_until": "2099-01-01T00:00:00Z",
        "user_metadata": {"name": "Ann \u{1f33b}"}, "app_metadata": {"plan": "gold"},
        "identities": [
            {"provider": "email", "provider_id": id, "identity_data": {"sub": id, "email": "ann@example.com"}},
            {"provider": "google", "provider_id": "42", "identity_data": {"sub": "42"}},
        ],
        "factors": [{"factor_type": "totp", "status": "verified", "secret": "JBSWY3DPEHPK3PXP", "friendly_name": "phone"}],
        "passkeys": [{"credential_id": "\\x0102", "public_key": "\\x03", "sign_count": 7, "transports": ["usb"]}],
    });
    let file = accounts.scratch.write("people.jsonl", &format!("{line}\n{}\n", json!({"phone": "15550100002"})));
    assert!(accounts.told(&["import", &file]).contains("Imported 2 accounts"));
    let (first, second) = (accounts.scratch.path("first.jsonl"), accounts.scratch.path("second.jsonl"));
    accounts.told(&["export", &first]);
    assert!(accounts.told(&["import", &first]).contains("Imported 0 accounts, 2 were there already"));

    let elsewhere = Accounts::new();
    elsewhere.told(&["import", &first]);
    elsewhere.told(&["export", &second]);
    let [first, second] = [first, second].map(|path| std::fs::read_to_string(path).expect("written"));
    assert_eq!(first, second);
    for kept in
        [HASH, "JBSWY3DPEHPK3PXP", "\"sign_count\":7", "2024-05-06T07:08:09.123456", "\"plan\":\"gold\"", "2099-"]
    {
        assert!(first.contains(kept), "{kept} is lost");
    }
}

#[test]
fn wrong_lines_are_told_by_number_and_the_rest_is_stored() {
    let accounts = Accounts::new();
    let people = [
        json!({"email": "ann@example.com"}).to_string(),
        json!({"email": "nonsense"}).to_string(),
        "{".to_owned(),
        String::new(),
        json!({"email": "ANN@example.com"}).to_string(),
        json!({"email": "cid@example.com", "password_hash": "md5"}).to_string(),
        json!({"email": "dee@example.com", "identities": [{"provider": "google", "provider_id": "1", "identity_data": {}}]}).to_string(),
        json!({"email": "eve@example.com", "identities": [{"provider": "google", "provider_id": "1", "identity_data": {}}]}).to_string(),
        json!({"email": "fay@example.com"}).to_string(),
    ];
    let file = accounts.scratch.write("people.jsonl", &people.join("\n"));
    for arguments in [&["import", &file, "--dry-run"][..], &["import", &file]] {
        let text = accounts.refused(arguments);
        for told in
            ["line 2: email: ", "line 3: no JSON", "line 5: another account", "line 6: encrypted_password", "unique"]
        {
            assert!(text.contains(told), "{told} in {text}");
        }
        assert!(text.contains("5 lines cannot be imported"), "{text}");
    }
    let mut addresses: Vec<String> =
        accounts.listed().iter().map(|user| user["email"].as_str().unwrap_or_default().to_owned()).collect();
    addresses.sort();
    assert_eq!(addresses[0], "ann@example.com");
    assert_eq!(addresses.len(), 3, "{addresses:?}");
}

#[test]
fn a_sealed_hash_is_taken_along_as_it_is() {
    let accounts = Accounts::new();
    let sealed = json!({"key_id": "one", "alg": "aes-gcm-hkdf", "data": "AAAA", "nonce": "AAAA"}).to_string();
    let line = json!({"email": "ann@example.com", "encrypted_password": sealed});
    accounts.told(&["import", &accounts.scratch.write("people.jsonl", &line.to_string())]);
    assert!(accounts.told(&["export", "-"]).contains("aes-gcm-hkdf"));
}

#[test]
fn a_rehearsal_stores_nothing() {
    let accounts = Accounts::new();
    let file = accounts.scratch.write("people.jsonl", "{\"email\": \"ann@example.com\"}\n");
    let told = accounts.told(&["import", &file, "--dry-run"]);
    assert!(told.contains("Would import 1 account, nothing was stored"), "{told}");
    assert!(accounts.listed().is_empty());
}

#[test]
fn files_of_other_services_are_known_by_their_beginning() {
    let accounts = Accounts::new();
    let firebase = json!({"users": [{"localId": "f", "email": "fire@example.com", "emailVerified": true,
        "passwordHash": "_-8h", "salt": "c2FsdA==", "createdAt": "1700000000000"}]});
    let file = accounts.scratch.write("firebase.json", &firebase.to_string());
    assert!(accounts.refused(&["import", &file]).contains("--firebase-signer-key"));
    accounts.told(&["import", &file, "--firebase-signer-key", "a2V5"]);

    let auth0 =
        json!({"_id": {"$oid": "1"}, "email": "zero@example.com", "email_verified": true, "passwordHash": HASH});
    accounts.told(&["import", &accounts.scratch.write("auth0.json", &auth0.to_string())]);

    let id = "20000000-0000-4000-8000-000000000001";
    let dump = format!(
        "SET session_replication_role = replica;\n\
         INSERT INTO \"auth\".\"identities\" (\"provider_id\", \"user_id\", \"identity_data\", \"provider\", \"id\", \"created_at\") VALUES\n\
         \t('{id}', '{id}', '{{\"sub\": \"{id}\"}}', 'email', '30000000-0000-4000-8000-000000000001', '2024-01-01 00:00:00+00');\n\
         COPY auth.users (instance_id, id, aud, role, email, encrypted_password, email_confirmed_at, raw_app_meta_data, is_anonymous, not_yet_known) FROM stdin;\n\
         00000000-0000-0000-0000-000000000000\t{id}\tauthenticated\tauthenticated\tdump@example.com\t{HASH}\t2024-01-01 00:00:00.5+00\t{{\"provider\": \"email\"}}\tf\t1\n\\.\n"
    );
    let told = accounts.told(&["import", &accounts.scratch.write("dump.sql", &dump)]);
    assert!(told.contains("Imported 1 account, 1 identities and factors"), "{told}");

    let shown = accounts.told(&["show", "dump@example.com"]);
    assert!(
        shown.contains("2024-01-01T00:00:00.5Z") && shown.contains("30000000-0000-4000-8000-000000000001"),
        "{shown}"
    );
    assert!(accounts.told(&["show", "fire@example.com"]).contains("2023-11-14T22:13:20Z"));
    assert_eq!(accounts.listed().len(), 3);
}
