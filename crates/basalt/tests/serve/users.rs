//! `basalt users`, with and without a running server.

use std::process::{Output, Stdio};

use serde_json::{Value, json};

use super::support::{Basalt, TempFolder, basalt};

/// The bcrypt hash of `password1`.
const HASH: &str = "$2b$04$IF2TMY3joum/3o1mpkWu6OzgaHAsDzoIujGuY5mJBFzRIuhQIMqIK";

pub(super) struct AccountCommands {
    pub(super) scratch: TempFolder,
}

impl AccountCommands {
    pub(super) fn new() -> Self {
        let scratch = TempFolder::new();
        scratch.write("config.toml", "");
        Self { scratch }
    }

    pub(super) fn data(&self) -> String {
        self.scratch.path("data")
    }

    pub(super) fn run(&self, arguments: &[&str]) -> Output {
        let config = self.scratch.path("config.toml");
        let place = ["users", "--config", &config, "--data", &self.data()];
        basalt().args(place).args(arguments).stdin(Stdio::null()).output().expect("the program starts")
    }

    /// Runs a command that must succeed; returns its output and error output.
    #[track_caller]
    pub(super) fn run_successfully(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let text = output_text(&output);
        assert!(output.status.success(), "{arguments:?}: {text}");
        text
    }

    /// Runs a command that must fail; returns its output and error output.
    #[track_caller]
    pub(super) fn run_failing(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(!output.status.success(), "{arguments:?} succeeded: {}", output_text(&output));
        output_text(&output)
    }

    pub(super) fn list_accounts(&self) -> Vec<Value> {
        let text = self.run_successfully(&["list", "--json"]);
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

fn output_text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[tokio::test]
async fn account_commands_work_beside_running_server() {
    let accounts = AccountCommands::new();
    let config = accounts.scratch.path("config.toml");
    let server = Basalt::serve(&["--config", &config, "--data", &accounts.data()]);
    let made = accounts.run_successfully(&["add", "Ann@example.com", "--confirmed", "--data", "{\"size\": \"L\"}"]);
    assert!(made.contains("Created ann@example.com with the id"), "{made}");
    let listed = accounts.run_successfully(&["list"]);
    assert!(listed.contains("  created 20") && listed.contains("  last sign-in -"), "{listed}");
    assert!(accounts.run_successfully(&["show", "ANN@example.com"]).contains("\"size\": \"L\""));

    let line = json!({"email": "bea@example.com", "email_verified": true, "password_hash": HASH});
    let file = accounts.scratch.write("users.jsonl", &line.to_string());
    let counted = accounts.run(&["import", &file, "--dry-run", "--json"]);
    let counted: Value = serde_json::from_slice(&counted.stdout).expect("JSON");
    assert_eq!((&counted["imported"]["accounts"], &counted["is_complete"]), (&json!(1), &json!(true)), "{counted}");
    let shown = accounts.run(&["show", "ann@example.com", "--json"]).stdout;
    assert_eq!(shown.split(|byte| *byte == b'\n').count(), 2, "one line");
    let shown: Value = serde_json::from_slice(&shown).expect("JSON");
    assert_eq!(shown["user_metadata"]["size"], "L");
    assert!(accounts.run_successfully(&["import", &file]).contains("Imported 1 account,"));
    let body = json!({"email": "bea@example.com", "password": "password1"});
    let signed_in = |body: Value| server.auth("/token?grant_type=password", Some(body));
    assert_eq!(signed_in(body.clone()).await.0, 200);
    accounts.run_successfully(&["ban", "bea@example.com", "--for", "1h"]);
    assert_eq!(signed_in(body.clone()).await.1["error_code"], "user_banned");
    accounts.run_successfully(&["ban", "bea@example.com", "--lift"]);
    assert_eq!(signed_in(body).await.0, 200);

    assert!(accounts.run_failing(&["delete", "bea@example.com"]).contains("--yes confirms without a question"));
    accounts.run_successfully(&["delete", "bea@example.com", "--yes"]);
    assert!(accounts.run_failing(&["show", "bea@example.com"]).contains("no account has the address"));
    assert_eq!(accounts.list_accounts().len(), 1);
}

#[test]
fn export_and_import_round_trip() {
    let accounts = AccountCommands::new();
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
    let file = accounts.scratch.write("users.jsonl", &format!("{line}\n{}\n", json!({"phone": "15550100002"})));
    assert!(accounts.run_successfully(&["import", &file]).contains("Imported 2 accounts"));
    let (first, second) = (accounts.scratch.path("first.jsonl"), accounts.scratch.path("second.jsonl"));
    let unrelated = accounts.scratch.write("first.part", "notes");
    accounts.run_successfully(&["export", &first]);
    assert_eq!(std::fs::read_to_string(unrelated).expect("a text"), "notes");
    assert!(accounts.run_successfully(&["import", &first]).contains("Imported 0 accounts, 2 were there already"));

    let elsewhere = AccountCommands::new();
    elsewhere.run_successfully(&["import", &first]);
    elsewhere.run_successfully(&["export", &second]);
    let [first, second] = [first, second].map(|path| std::fs::read_to_string(path).expect("written"));
    assert_eq!(first, second);
    for kept in
        [HASH, "JBSWY3DPEHPK3PXP", "\"sign_count\":7", "2024-05-06T07:08:09.123456", "\"plan\":\"gold\"", "2099-"]
    {
        assert!(first.contains(kept), "{kept} is lost");
    }
}

#[test]
fn unusual_times_are_listed_shown_exported_and_imported() {
    let (accounts, elsewhere) = (AccountCommands::new(), AccountCommands::new());
    let people = [
        json!({"email": "ann@example.com", "banned_until": "infinity", "created_at": "-infinity"}),
        json!({"email": "bea@example.com", "last_sign_in_at": "0044-03-15T12:00:00+00:00 BC"}),
        json!({"email": "cid@example.com", "banned_until": "12345-01-01T00:00:00+00:00"}),
    ];
    let file = accounts.scratch.write("users.jsonl", &people.map(|user| user.to_string()).join("\n"));
    assert!(accounts.run_successfully(&["import", &file]).contains("Imported 3 accounts"));
    assert_eq!(accounts.list_accounts().len(), 3);
    for user in ["ann", "bea", "cid"] {
        accounts.run_successfully(&["show", &format!("{user}@example.com")]);
    }
    let (first, second) = (accounts.scratch.path("first.jsonl"), accounts.scratch.path("second.jsonl"));
    accounts.run_successfully(&["export", &first]);
    elsewhere.run_successfully(&["import", &first]);
    elsewhere.run_successfully(&["export", &second]);
    let [first, second] = [first, second].map(|path| std::fs::read_to_string(path).expect("written"));
    assert_eq!(first, second);
    for kept in ["\"infinity\"", "\"-infinity\"", " BC\"", "\"12345-"] {
        assert!(first.contains(kept), "{kept} is lost: {first}");
    }
    let wrong =
        accounts.scratch.write("wrong.jsonl", &json!({"email": "d@example.com", "banned_until": "never"}).to_string());
    assert!(accounts.run_failing(&["import", &wrong]).contains("a time is wanted"));
}

#[test]
fn accounts_with_more_rights_are_imported_only_if_allowed() {
    let accounts = AccountCommands::new();
    let people = [
        json!({"email": "ann@example.com", "role": "authenticated", "app_metadata": {"plan": "owner"}}),
        json!({"email": "bea@example.com", "role": "service_role"}),
        json!({"email": "cid@example.com", "role": "supabase_admin"}),
        json!({"email": "dee@example.com", "app_metadata": {"role": "owner"}}),
        json!({"email": "eve@example.com", "app_metadata": {"roles": ["editor", "owner"]}}),
        json!({"email": "fay@example.com", "role": "", "user_metadata": {"role": "owner"}}),
    ];
    let text = people.map(|user| user.to_string()).join("\n");
    let file = accounts.scratch.write("users.jsonl", &text);
    let refused = accounts.run_failing(&["import", &file]);
    for (line, name) in [(2, "bea"), (3, "cid"), (4, "dee"), (5, "eve")] {
        assert!(refused.contains(&format!("line {line}: {name}@example.com has the r")), "{refused}");
    }
    assert!(refused.contains("--allow-privileged") && refused.contains("Imported 2 accounts"), "{refused}");
    assert_eq!(accounts.list_accounts().len(), 2);

    let dump = "INSERT INTO \"auth\".\"users\" (\"id\", \"email\", \"role\") VALUES \
                ('10000000-0000-4000-8000-000000000009', 'gil@example.com', 'service_role');\n";
    let dump = accounts.scratch.write("dump.sql", dump);
    assert!(accounts.run_failing(&["import", &dump]).contains("gil@example.com has the role \"service_role\""));

    let accounts = AccountCommands::new();
    let file = accounts.scratch.write("users.jsonl", &text);
    let reported = accounts.run_successfully(&["import", &file, "--allow-privileged"]);
    assert!(reported.contains("line 3: cid@example.com has the role \"supabase_admin\""), "{reported}");
    assert!(reported.contains("4 accounts with more rights than others"), "{reported}");
    assert_eq!(accounts.list_accounts().len(), 6);
}

#[test]
fn invalid_lines_are_reported_and_others_are_stored() {
    let accounts = AccountCommands::new();
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
    let file = accounts.scratch.write("users.jsonl", &people.join("\n"));
    for arguments in [&["import", &file, "--dry-run"][..], &["import", &file]] {
        let text = accounts.run_failing(arguments);
        for reported in
            ["line 2: email: ", "line 3: no JSON", "line 5: another account", "line 6: encrypted_password", "unique"]
        {
            assert!(text.contains(reported), "{reported} in {text}");
        }
        assert!(text.contains("5 lines cannot be imported"), "{text}");
    }
    let mut addresses: Vec<String> =
        accounts.list_accounts().iter().map(|user| user["email"].as_str().unwrap_or_default().to_owned()).collect();
    addresses.sort();
    assert_eq!(addresses[0], "ann@example.com");
    assert_eq!(addresses.len(), 3, "{addresses:?}");
}

#[test]
fn encrypted_hash_is_imported_unchanged() {
    let accounts = AccountCommands::new();
    let sealed = json!({"key_id": "one", "alg": "aes-gcm-hkdf", "data": "AAAA", "nonce": "AAAA"}).to_string();
    let line = json!({"email": "ann@example.com", "encrypted_password": sealed});
    accounts.run_successfully(&["import", &accounts.scratch.write("users.jsonl", &line.to_string())]);
    assert!(accounts.run_successfully(&["export", "-"]).contains("aes-gcm-hkdf"));
}

#[test]
fn dry_run_stores_nothing() {
    let accounts = AccountCommands::new();
    let file = accounts.scratch.write("users.jsonl", "{\"email\": \"ann@example.com\"}\n");
    let reported = accounts.run_successfully(&["import", &file, "--dry-run"]);
    assert!(reported.contains("Would import 1 account, 1 identity, nothing was stored"), "{reported}");
    assert!(accounts.list_accounts().is_empty());
}

#[test]
fn dry_run_names_file_and_line_of_each_row_that_would_be_left_out() {
    let accounts = AccountCommands::new();
    let (ann, bob) = ("20000000-0000-4000-8000-000000000001", "20000000-0000-4000-8000-000000000002");
    let identity = |number: u8, user: &str, provider: &str| {
        format!(
            "{user}\t{user}\t{{}}\t{provider}\t30000000-0000-4000-8000-00000000000{number}\t2024-01-01 00:00:00+00\n"
        )
    };
    // Line 7 repeats the identity of line 6, line 9 is of an account that is not there.
    let dump = format!(
        "COPY auth.users (id, aud, role, email, raw_app_meta_data) FROM stdin;\n\
         {ann}\tauthenticated\tauthenticated\tann@example.com\t{{}}\n\
         {bob}\tauthenticated\tauthenticated\tbob@example.com\t{{}}\n\\.\n\
         COPY auth.identities (provider_id, user_id, identity_data, provider, id, created_at) FROM stdin;\n\
         {}{}{}{}\\.\n",
        identity(1, ann, "google"),
        identity(2, ann, "google"),
        identity(3, bob, "google"),
        identity(4, "20000000-0000-4000-8000-000000000009", "google"),
    );
    let file = accounts.scratch.write("dump.sql", &dump);
    let mut reports = Vec::new();
    for arguments in [&["import", &file, "--dry-run"][..], &["import", &file]] {
        let text = accounts.run_failing(arguments);
        let mut lines: Vec<String> =
            text.lines().filter(|line| line.contains("is not moved")).map(str::to_owned).collect();
        lines.sort();
        reports.push(lines);
    }
    assert_eq!(reports[0], reports[1], "a dry run names what the import leaves out");
    assert_eq!(reports[0].len(), 2, "{reports:?}");
    assert!(reports[0][0].starts_with(&format!("{file}, line 7: ")), "{reports:?}");
    assert!(reports[0][1].starts_with(&format!("{file}, line 9: ")), "{reports:?}");
}

#[test]
fn long_values_are_cut_in_messages() {
    let accounts = AccountCommands::new();
    let file = accounts.scratch.write("users.jsonl", &json!({"email": "x".repeat(100_000)}).to_string());
    let text = accounts.run_failing(&["import", &file, "--dry-run"]);
    assert!(text.contains(&format!("{file}, line 1: email")) && text.len() < 3_000, "{} bytes", text.len());
}

#[test]
fn formats_of_other_services_are_detected_and_imported() {
    let accounts = AccountCommands::new();
    let firebase = json!({"users": [{"localId": "f", "email": "fire@example.com", "emailVerified": true,
        "passwordHash": "_-8h", "salt": "c2FsdA==", "createdAt": "1700000000000"}]});
    let file = accounts.scratch.write("firebase.json", &firebase.to_string());
    assert!(accounts.run_failing(&["import", &file]).contains("--firebase-signer-key"));
    accounts.run_successfully(&["import", &file, "--firebase-signer-key", "a2V5"]);

    let auth0 =
        json!({"_id": {"$oid": "1"}, "email": "zero@example.com", "email_verified": true, "passwordHash": HASH});
    accounts.run_successfully(&["import", &accounts.scratch.write("auth0.json", &auth0.to_string())]);

    let id = "20000000-0000-4000-8000-000000000001";
    let dump = format!(
        "SET session_replication_role = replica;\n\
         INSERT INTO \"auth\".\"identities\" (\"provider_id\", \"user_id\", \"identity_data\", \"provider\", \"id\", \"created_at\") VALUES\n\
         \t('{id}', '{id}', '{{\"sub\": \"{id}\"}}', 'email', '30000000-0000-4000-8000-000000000001', '2024-01-01 00:00:00+00');\n\
         COPY auth.users (instance_id, id, aud, role, email, encrypted_password, email_confirmed_at, raw_app_meta_data, is_anonymous, not_yet_known) FROM stdin;\n\
         00000000-0000-0000-0000-000000000000\t{id}\tauthenticated\tauthenticated\tdump@example.com\t{HASH}\t2024-01-01 00:00:00.5+00\t{{\"provider\": \"email\"}}\tf\t1\n\\.\n"
    );
    let reported = accounts.run_successfully(&["import", &accounts.scratch.write("dump.sql", &dump)]);
    assert!(reported.contains("Imported 1 account, 1 identity, 1 password"), "{reported}");

    assert!(reported.contains("users.not_yet_known (1)"), "{reported}");

    let shown = accounts.run_successfully(&["show", "dump@example.com"]);
    assert!(
        shown.contains("2024-01-01T00:00:00.5Z") && shown.contains("30000000-0000-4000-8000-000000000001"),
        "{shown}"
    );
    assert!(accounts.run_successfully(&["show", "fire@example.com"]).contains("2023-11-14T22:13:20Z"));
    assert_eq!(accounts.list_accounts().len(), 3);
}

/// A code of argon2id, as the reference stores it.
const CODE_HASH: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$MDEyMzQ1Njc4OWFiY2RlZg$1Fvqp4H8GiQHWKYCFwdOn5OmHurBz+n8KhjtE86jNwk";

#[test]
fn recovery_codes_survive_export_and_import() {
    let accounts = AccountCommands::new();
    let line = json!({
        "email": "ann@example.com",
        "factors": [
            {"factor_type": "totp", "status": "verified", "secret": "JBSWY3DPEHPK3PXP", "friendly_name": "phone"},
            {"factor_type": "recovery_code", "status": "verified", "friendly_name": "Recovery codes"},
        ],
        "recovery_codes": {
            "failed_verification_count": 2, "verification_locked_until": "2099-01-01T00:00:00Z",
            "codes": [{"code_hash": CODE_HASH}, {"code_hash": CODE_HASH, "consumed_at": "2024-05-06T07:08:09Z"}],
        },
    });
    let file = accounts.scratch.write("users.jsonl", &line.to_string());
    assert!(accounts.run_successfully(&["import", &file]).contains("Imported 1 account"));
    let (first, second) = (accounts.scratch.path("first.jsonl"), accounts.scratch.path("second.jsonl"));
    accounts.run_successfully(&["export", &first]);
    let elsewhere = AccountCommands::new();
    elsewhere.run_successfully(&["import", &first]);
    elsewhere.run_successfully(&["export", &second]);
    let [first, second] = [first, second].map(|path| std::fs::read_to_string(path).expect("written"));
    assert_eq!(first, second);
    for kept in [CODE_HASH, "\"failed_verification_count\":2", "2099-01-01", "2024-05-06T07:08:09"] {
        assert!(first.contains(kept), "{kept} is lost: {first}");
    }
    for (codes, expected) in [
        (json!([]), "recovery_codes: an object is wanted"),
        (json!({"codes": [{"code_hash": "plain"}]}), "codes[0]: code_hash: "),
        (json!({"codes": [{}]}), "codes[0]: code_hash is missing"),
    ] {
        let mut wrong = line.clone();
        wrong["email"] = json!("bea@example.com");
        wrong["recovery_codes"] = codes;
        let file = accounts.scratch.write("wrong.jsonl", &wrong.to_string());
        let text = accounts.run_failing(&["import", &file]);
        assert!(text.contains(expected), "{text}");
    }
}

#[tokio::test]
async fn recovery_codes_without_their_tables_are_named_and_end_with_a_failure() {
    let accounts = AccountCommands::new();
    let config = accounts.scratch.path("config.toml");
    let server = Basalt::serve(&["--config", &config, "--data", &accounts.data()]);
    let mut database = server.connect_after_indexes().await;
    let drop = "DROP TABLE auth.mfa_recovery_codes, auth.mfa_recovery_code_sets";
    sqlx::raw_sql(drop).execute(&mut database).await.expect("the tables of the embedded database");
    let line = json!({
        "email": "ann@example.com",
        "factors": [{"factor_type": "recovery_code", "status": "verified", "friendly_name": "Recovery codes"}],
        "recovery_codes": {"codes": [{"code_hash": CODE_HASH}]},
    });
    let file = accounts.scratch.write("users.jsonl", &line.to_string());
    let output = accounts.run(&["import", &file]);
    let text = output_text(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("Imported 1 account"), "{text}");
    assert!(text.contains("enable [auth.mfa.recovery_codes], start the server once and repeat the import"), "{text}");
}
