//! `basalt users import` with files as other services and tools write them.

use serde_json::{Value, json};

use super::support::Basalt;
use super::users::AccountCommands;

/// The bcrypt hash of `password1`.
const HASH: &str = "$2b$04$IF2TMY3joum/3o1mpkWu6OzgaHAsDzoIujGuY5mJBFzRIuhQIMqIK";

fn exported(accounts: &AccountCommands) -> Vec<Value> {
    let text = accounts.run_successfully(&["export", "-"]);
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn write_bytes(accounts: &AccountCommands, name: &str, content: &[u8]) -> String {
    let path = accounts.scratch.path(name);
    std::fs::write(&path, content).expect("the file is written");
    path
}

fn providers(account: &Value) -> Vec<&str> {
    let identities = account["identities"].as_array().expect("identities");
    let mut providers: Vec<&str> = identities.iter().filter_map(|one| one["provider"].as_str()).collect();
    providers.sort_unstable();
    providers
}

#[test]
fn files_without_accounts_are_refused_with_the_right_command() {
    let accounts = AccountCommands::new();
    for (name, content, wanted) in [
        ("empty.json", &b""[..], "is empty"),
        ("custom.dump", b"PGDMP\x01\x0e\x00", "pg_restore --data-only --schema auth --file auth.sql"),
        ("tar.dump", b"toc.dat\0\0\0", "pg_restore"),
        ("data.db", b"SQLite format 3\0", "sqlite3 -json"),
        ("page.html", b"<!doctype html>", "HTML or XML"),
        ("colours.csv", b"colour,size\nred,L\n", "no column is known"),
        ("schema.sql", b"CREATE TABLE public.users (id int);\n", "pg_dump DATABASE_URL --data-only --schema auth"),
        ("none.json", b"[]", "has no account in it"),
        ("header.csv", b"email,name\n", "has no account in it"),
        ("cut.json", b"{\"users\": [", "cut off"),
    ] {
        let file = write_bytes(&accounts, name, content);
        let text = accounts.run_failing(&["import", &file]);
        assert!(text.contains(wanted), "{name}: {text}");
    }
}

#[test]
fn hashes_and_accounts_of_auth0_are_joined_in_any_order_and_repeatedly() {
    let export = [
        json!({"user_id": "auth0|5f1", "email": "jane@example.com", "email_verified": true, "name": "Jane Roe",
            "app_metadata": {"plan": "pro"}, "user_metadata": {"colour": "blue"}, "last_ip": "192.0.2.1",
            "identities": [{"provider": "auth0", "user_id": "5f1"}, {"provider": "google-oauth2", "user_id": "77"}]}),
        json!({"user_id": "auth0|5f2", "email": "june@example.com"}),
    ];
    let export = export.map(|line| line.to_string()).join("\n");
    let hash =
        json!({"_id": {"$oid": "5f1"}, "email": "jane@example.com", "email_verified": true, "passwordHash": HASH});
    let check = |accounts: &AccountCommands| {
        let found = exported(accounts);
        assert_eq!(found.len(), 2);
        let jane = found.iter().find(|account| account["email"] == "jane@example.com").expect("Jane");
        assert_eq!(jane["encrypted_password"], HASH);
        assert_eq!(jane["raw_user_meta_data"], json!({"name": "Jane Roe", "colour": "blue"}));
        assert_eq!(jane["raw_app_meta_data"]["plan"], "pro");
        assert_eq!(providers(jane), ["email", "google"]);
        jane["id"].as_str().expect("an id").to_owned()
    };
    let mut ids = Vec::new();
    for hashes_first in [true, false] {
        let accounts = AccountCommands::new();
        let export = accounts.scratch.write("export.jsonl", &export);
        let hashes = accounts.scratch.write("hashes.jsonl", &hash.to_string());
        let files = if hashes_first { [&hashes, &export] } else { [&export, &hashes] };
        let reported = accounts.run_successfully(&["import", files[0], files[1]]);
        assert!(reported.contains("Imported 2 accounts, 3 identities, 1 password"), "{reported}");
        assert!(reported.contains("last_ip (1)"), "{reported}");
        let again = accounts.run_successfully(&["import", files[0], files[1]]);
        assert!(again.contains("Imported 0 accounts, 2 were there already"), "{again}");
        ids.push(check(&accounts));
    }
    // One after the other: the second file adds what the first does not have.
    let accounts = AccountCommands::new();
    let export = accounts.scratch.write("export.jsonl", &export);
    let hashes = accounts.scratch.write("hashes.jsonl", &hash.to_string());
    accounts.run_successfully(&["import", &hashes]);
    let reported = accounts.run_successfully(&["import", &export]);
    assert!(reported.contains("1 of them completed"), "{reported}");
    ids.push(check(&accounts));
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
}

#[test]
fn encodings_and_tables_of_other_services_are_read() {
    let accounts = AccountCommands::new();
    let auth0 = json!({"user_id": "auth0|1", "email": "utf16@example.com", "email_verified": true, "name": "Zo\u{eb}"});
    let utf16 = |text: &str, mark: bool| {
        let units = mark.then_some(0xfeff).into_iter().chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect::<Vec<u8>>()
    };
    let files = [
        ("marked.jsonl", utf16(&auth0.to_string(), true)),
        ("unmarked.csv", utf16("user_id,email,name\nauth0|2,plain16@example.com,Zo\u{eb}\n", false)),
        (
            "clerk.csv",
            format!(
                "id,first_name,primary_email_address,verified_email_addresses,totp_secret,password_digest,password_hasher\n\
                 user_1,Ann,clerk@example.com,clerk@example.com,JBSWY3DPEHPK3PXP,{HASH},bcrypt\n"
            )
            .into_bytes(),
        ),
        (
            "firebase.csv",
            b"a1,fire@example.com,true,,,Ann Lee,,g7,fire@example.com,,,,,,,,,,,,,,,1473621716000,1473621716000,,,\n".to_vec(),
        ),
        (
            "dashboard.csv",
            b"\xef\xbb\xbfUID,Display name,Email,Phone,Providers,Provider type,Created at,Last sign in at\n\
              10000000-0000-4000-8000-000000000007,Dee,dash@example.com,-,Email,-,2024-01-01T00:00:00Z,\n"
                .to_vec(),
        ),
        ("pocketbase.json", b"[{\"id\":\"abc\",\"email\":\"kim@example.com\",\"verified\":true,\"created\":\"2024-01-01 00:00:00.123Z\"}]".to_vec()),
        ("array.json", b"{\"users\":[{\"id\":\"10000000-0000-4000-8000-000000000008\",\"aud\":\"authenticated\",\"email\":\"api@example.com\"}],\"aud\":\"authenticated\"}".to_vec()),
    ];
    for (name, content) in &files {
        let file = write_bytes(&accounts, name, content);
        let reported = accounts.run_successfully(&["import", &file]);
        assert!(reported.contains("Imported 1 account"), "{name}: {reported}");
    }
    let found = exported(&accounts);
    assert_eq!(found.len(), files.len());
    let account = |email: &str| found.iter().find(|account| account["email"] == email).expect(email);
    assert_eq!(account("utf16@example.com")["raw_user_meta_data"]["name"], "Zo\u{eb}");
    assert_eq!(account("plain16@example.com")["raw_user_meta_data"]["name"], "Zo\u{eb}");
    let clerk = account("clerk@example.com");
    assert_eq!((&clerk["encrypted_password"], &clerk["factors"][0]["status"]), (&json!(HASH), &json!("verified")));
    assert!(clerk["email_confirmed_at"].is_string());
    assert_eq!(providers(account("fire@example.com")), ["google"]);
    assert!(account("fire@example.com")["created_at"].as_str().is_some_and(|time| time.starts_with("2016-09-11")));
    assert!(account("kim@example.com")["email_confirmed_at"].is_string());
    assert_eq!(account("dash@example.com")["id"], "10000000-0000-4000-8000-000000000007");
}

#[tokio::test]
async fn user_of_firebase_keeps_password_providers_and_factor() {
    let accounts = AccountCommands::new();
    let config = accounts.scratch.path("config.toml");
    let server = Basalt::serve(&["--config", &config, "--data", &accounts.data()]);
    let firebase = json!({"users": [{
        "localId": "f1", "email": "sam@example.com", "emailVerified": true, "passwordHash": "_-8h", "salt": "c2FsdA==",
        "createdAt": 1_473_621_716_000.0, "mfaInfo": [{"mfaEnrollmentId": "m1", "phoneInfo": "+15555550101", "enrolledAt": "2024-01-01T00:00:00Z"}],
        "providerUserInfo": [{"providerId": "google.com", "rawId": "1099"}, {"providerId": "password", "rawId": "sam@example.com"},
            {"providerId": "oidc.okta", "rawId": "00u1"}]}]});
    let file = accounts.scratch.write("firebase.json", &firebase.to_string());
    let arguments = ["import", &file, "--firebase-signer-key", "a2V5"];
    // What is not moved is named, and seen in the exit status.
    let reported = accounts.run_failing(&arguments);
    assert!(reported.contains("1 factor, 1 password"), "{reported}");
    assert!(reported.contains("1 part of accounts left out"), "{reported}");
    assert!(reported.contains("the identity of oidc.okta is left out: --provider oidc.okta=custom:"), "{reported}");
    let wrong = [&arguments[..], &["--provider", "oidc.okta=okta"]].concat();
    assert!(accounts.run_failing(&wrong).contains("is no provider"));
    let unknown = [&arguments[..], &["--provider", "oidc.okta=sso:10000000-0000-4000-8000-000000000001"]].concat();
    assert!(accounts.run_failing(&unknown).contains("there is no SSO provider with this id here"));
    let mapped = [&arguments[..], &["--provider", "oidc.okta=custom:okta"]].concat();
    assert!(accounts.run_successfully(&mapped).contains("1 identity"));
    let found = exported(&accounts);
    assert_eq!(providers(&found[0]), ["custom:okta", "email", "google"]);
    let factor = &found[0]["factors"][0];
    assert_eq!((&factor["phone"], &factor["status"]), (&json!("15555550101"), &json!("verified")));

    let emulator = json!({"kind": "identitytoolkit#DownloadAccountResponse", "users": [{
        "localId": "e1", "email": "emu@example.com", "emailVerified": true, "salt": "fakeSaltAbc",
        "passwordHash": "fakeHash:salt=fakeSaltAbc:password=secret12", "createdAt": "1700000000000",
        "providerUserInfo": [{"providerId": "password", "rawId": "emu@example.com"}]}]});
    accounts.run_successfully(&["import", &accounts.scratch.write("emulator.json", &emulator.to_string())]);
    let body = json!({"email": "emu@example.com", "password": "secret12"});
    assert_eq!(server.auth("/token?grant_type=password", Some(body)).await.0, 200);
}

#[test]
fn dump_keeps_sso_grants_and_reports_the_rest() {
    let accounts = AccountCommands::new();
    let [user, provider, client] = [1, 2, 3].map(|number| format!("10000000-0000-4000-8000-00000000000{number}"));
    let values = format!(
        "'00000000-0000-0000-0000-000000000000', '{user}', 'authenticated', 'authenticated', 'ann@example.com', '{HASH}', \
         '2026-01-01 00:00:00+00'::timestamp with time zone, NULL, '', NULL, '', NULL, '', '', NULL, NULL, '{{}}', '{{}}', NULL, \
         '2026-01-01 00:00:00+00', '2026-01-01 00:00:00+00', NULL, NULL, '', '', NULL, DEFAULT, '', 0, NULL, '', NULL, false, NULL, false"
    );
    let dump = format!(
        "SET statement_timeout = 0;\n\
         INSERT INTO auth.users VALUES ({values});\n\
         INSERT INTO auth.identities (provider_id, user_id, identity_data, provider, id) VALUES ('x', '{user}', '{{\"sub\": \"x\"}}', 'sso:{provider}', '{client}');\n\
         COPY auth.saml_providers (id, sso_provider_id, entity_id, metadata_xml, attribute_mapping) FROM stdin;\n\
         {client}\t{provider}\thttps://idp.example.com\t<xml/>\t{{}}\n\\.\n\
         COPY auth.sso_domains (id, sso_provider_id, domain) FROM stdin;\n\
         {client}\t{provider}\texample.com\n\\.\n\
         COPY auth.sso_providers (id, resource_id) FROM stdin;\n{provider}\t\\N\n\\.\n\
         COPY auth.oauth_consents (id, user_id, client_id, scopes) FROM stdin;\n\
         {provider}\t{user}\t{client}\topenid\n{user}\t{provider}\t{client}\topenid\n\\.\n\
         COPY auth.oauth_clients (id, registration_type, redirect_uris, grant_types, token_endpoint_auth_method) FROM stdin;\n\
         {client}\tmanual\thttps://app.example.com\tauthorization_code\tnone\n\\.\n\
         COPY auth.sessions (id, user_id) FROM stdin;\n{client}\t{user}\n\\.\n\
         COPY auth.mfa_recovery_codes (id, mfa_recovery_code_set_id, code_hash) FROM stdin;\n{client}\t{user}\thash\n\\.\n"
    );
    let file = accounts.scratch.write("dump.sql", &dump);
    let reported = accounts.run_failing(&["import", &file]);
    for wanted in [
        "1 account, 1 identity, 1 SSO provider, 1 OAuth client, 1 SAML provider, 1 SSO domain, 1 OAuth grant, 1 password",
        "line 15: this OAuth grant is not moved: it belongs to an account that is not of this import",
        "auth.sessions (1)",
        "line 24: this recovery code is not moved: what it refers to is missing here",
        "1 of OAuth grants not moved, 1 of recovery codes not moved",
    ] {
        assert!(reported.contains(wanted), "{wanted} in {reported}");
    }
    assert_eq!(exported(&accounts)[0]["encrypted_password"], HASH);
}

#[test]
fn csv_with_an_existing_id_and_another_hash_changes_nothing() {
    let accounts = AccountCommands::new();
    let id = "10000000-0000-4000-8000-000000000007";
    let own = json!({"id": id, "email": "own@example.com", "email_verified": true, "password_hash": HASH});
    accounts.run_successfully(&["import", &accounts.scratch.write("own.jsonl", &own.to_string())]);
    let before = exported(&accounts);
    let foreign = HASH.replace("IF2TMY3joum", "AAAAAAAAAAA");
    let csv = format!("id,email,email_verified,password_hash,name\n{id},own@example.com,true,{foreign},Mallory\n");
    let reported = accounts.run_successfully(&["import", &accounts.scratch.write("users.csv", &csv)]);
    assert!(reported.contains("Imported 0 accounts, 1 were there already"), "{reported}");
    assert!(!reported.contains("completed"), "{reported}");
    assert_eq!(exported(&accounts), before);
}

#[tokio::test]
async fn hashes_complete_no_account_that_is_in_use_or_confirmed_only_here() {
    let accounts = AccountCommands::new();
    let config = accounts.scratch.path("config.toml");
    let server = Basalt::serve(&["--config", &config, "--data", &accounts.data()]);
    let export = [
        json!({"user_id": "auth0|1", "email": "confirmed@example.com", "email_verified": false}),
        json!({"user_id": "auth0|2", "email": "session@example.com", "email_verified": true}),
        json!({"user_id": "auth0|3", "email": "unused@example.com", "email_verified": true}),
    ];
    let export = export.map(|line| line.to_string()).join("\n");
    accounts.run_successfully(&["import", &accounts.scratch.write("export.jsonl", &export)]);
    let mut database = server.connect_after_indexes().await;
    let change = "UPDATE auth.users SET email_confirmed_at = now() WHERE email = 'confirmed@example.com';
                  INSERT INTO auth.sessions (id, user_id, created_at, updated_at)
                  SELECT gen_random_uuid(), id, now(), now() FROM auth.users WHERE email = 'session@example.com'";
    sqlx::raw_sql(change).execute(&mut database).await.expect("changed");
    let hashes =
        [("1", "confirmed", false), ("2", "session", true), ("3", "unused", true)].map(|(id, name, is_verified)| {
            let email = format!("{name}@example.com");
            json!({"_id": {"$oid": id}, "email": email, "email_verified": is_verified, "passwordHash": HASH})
                .to_string()
        });
    let reported = accounts.run_successfully(&["import", &accounts.scratch.write("hashes.jsonl", &hashes.join("\n"))]);
    assert!(reported.contains("3 were there already, 1 of them completed"), "{reported}");
    let found = exported(&accounts);
    let hash = |email: &str| {
        let account = found.iter().find(|account| account["email"] == email).expect(email);
        account["encrypted_password"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(hash("confirmed@example.com"), "");
    assert_eq!(hash("session@example.com"), "");
    assert_eq!(hash("unused@example.com"), HASH);
}

#[test]
fn identities_of_a_dump_are_not_attached_to_accounts_of_others() {
    let accounts = AccountCommands::new();
    let [own, moved, identity, other] =
        [1, 2, 3, 4].map(|number| format!("10000000-0000-4000-8000-00000000000{number}"));
    let line = json!({"id": own, "email": "own@example.com", "email_verified": true, "password_hash": HASH});
    accounts.run_successfully(&["import", &accounts.scratch.write("own.jsonl", &line.to_string())]);
    let dump = format!(
        "COPY auth.users (id, aud, role, email) FROM stdin;\n{moved}\tauthenticated\tauthenticated\tmoved@example.com\n\\.\n\
         COPY auth.identities (id, user_id, provider, provider_id, identity_data) FROM stdin;\n\
         {identity}\t{own}\tgoogle\tattacker\t{{\"sub\": \"attacker\"}}\n\
         {other}\t{moved}\tgoogle\tmoved\t{{\"sub\": \"moved\"}}\n\\.\n"
    );
    let file = accounts.scratch.write("dump.sql", &dump);
    let reported = accounts.run_failing(&["import", &file]);
    assert!(reported.contains("Imported 1 account, 1 identity"), "{reported}");
    let refusal = "line 5: this identity is not moved: it belongs to an account that is not of this import";
    assert!(reported.contains(refusal) && reported.contains("1 of identities not moved"), "{reported}");
    let found = exported(&accounts);
    let account = |id: &str| found.iter().find(|account| account["id"] == id).expect("the account");
    assert_eq!(providers(account(&own)), ["email"]);
    assert_eq!(providers(account(&moved)), ["google"]);
    // The same dump again: what was moved is there, and what was not is reported again.
    let again = accounts.run_failing(&["import", &file]);
    assert!(
        again.contains("There already: 1 of identities.") && again.contains("1 of identities not moved"),
        "{again}"
    );
}

#[test]
fn further_lists_of_a_file_are_read_or_reported() {
    let accounts = AccountCommands::new();
    let account = |email: &str| json!({"email": email, "email_verified": true, "aud": "authenticated"}).to_string();
    let pages =
        format!("{{\"users\": [{}]}}\n{{\"users\": [{}]}}\n", account("a@example.com"), account("b@example.com"));
    let reported = accounts.run_successfully(&["import", &accounts.scratch.write("pages.json", &pages)]);
    assert!(reported.contains("Imported 2 accounts"), "{reported}");
    let other =
        format!("{{\"users\": [{}],\n\"deleted\": [{}]}}\n", account("c@example.com"), account("d@example.com"));
    let reported = accounts.run_failing(&["import", &accounts.scratch.write("other.json", &other)]);
    assert!(reported.contains("Imported 1 account"), "{reported}");
    assert!(reported.contains("line 2: the list \"deleted\" is not read"), "{reported}");
}
