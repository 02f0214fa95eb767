//! The storage API of `basalt serve`: keys, policies, buckets of the project, and what its responses carry.

use aws_lc_rs::{digest, hmac};
use platform::clock::{Clock, SystemClock};
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use crate::support::{Basalt, TempFolder, run};

const POLICIES: &str = "INSERT INTO storage.buckets (id, name, public) VALUES ('papers', 'papers', false);
    CREATE POLICY own ON storage.objects FOR ALL TO authenticated
        USING (bucket_id = 'papers' AND (storage.foldername(name))[1] = (SELECT auth.uid())::text)
        WITH CHECK (bucket_id = 'papers' AND (storage.foldername(name))[1] = (SELECT auth.uid())::text);";

const SETTINGS: &str = "[storage]\nfile_size_limit = \"1MiB\"\n[storage.buckets.images]\npublic = true\n\
    allowed_mime_types = [\"image/svg+xml\", \"text/html; charset=utf-8\"]\nobjects_path = \"./images\"\n";

struct Project {
    server: Basalt,
    folder: TempFolder,
}

impl Project {
    fn start(settings: &str) -> Self {
        let folder = TempFolder::new();
        std::fs::create_dir_all(folder.0.join("supabase/migrations")).expect("folders");
        std::fs::create_dir_all(folder.0.join("supabase/images/deep")).expect("folders");
        let config = folder.write("supabase/config.toml", settings);
        folder.write("supabase/migrations/20260101000000_storage.sql", POLICIES);
        folder.write("supabase/images/mark.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>");
        folder.write("supabase/images/deep/page.html", "<p>page</p>");
        let data = folder.0.join("data");
        let server = Basalt::serve(&["--data", data.to_str().expect("text"), "--config", &config]);
        Self { server, folder }
    }

    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.server.client.request(method, self.server.url(&format!("/storage/v1{path}")))
    }

    async fn get(&self, path: &str) -> Response {
        self.request(Method::GET, path).send().await.expect("a response")
    }

    /// Waits until the buckets of the project are there.
    async fn wait_for_seeds(&self) {
        for _ in 0..400 {
            if self.get("/object/public/images/mark.svg").await.status() == StatusCode::OK {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("the buckets of the project are missing");
    }

    /// Signs a new user up and returns the id and the access token.
    async fn sign_up(&self, email: &str) -> (String, String) {
        let body = json!({"email": email, "password": "a long password", "email_confirm": true});
        let service = self.server.text("secret_key");
        let admin = self.server.client.post(self.server.url("/auth/v1/admin/users")).header("apikey", &service);
        assert_eq!(admin.json(&body).send().await.expect("a response").status(), 200);
        let (_, session) = self.server.auth("/token?grant_type=password", Some(body)).await;
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        (text(&session["user"]["id"]), text(&session["access_token"]))
    }
}

#[tokio::test]
async fn users_write_and_read_under_the_policies_of_migrations() {
    let project = Project::start("");
    let publishable = project.server.text("publishable_key");
    let ((ann, ann_token), (_, bob_token)) =
        (project.sign_up("ann@example.com").await, project.sign_up("bob@example.com").await);
    let path = format!("/object/papers/{ann}/letter.txt");
    let upload = async |token: &str| {
        let request = project.request(Method::POST, &path).header("apikey", &publishable).bearer_auth(token);
        request.header("content-type", "text/plain").body("dear").send().await.expect("a response")
    };
    let refused: Value = upload(&bob_token).await.json().await.expect("JSON");
    assert_eq!(refused["message"], "new row violates row-level security policy", "{refused}");
    assert_eq!(
        refused["hint"],
        "storage.object.upload needs policies on storage.objects for INSERT; authenticated has some, and one of them is \
         false here"
    );
    assert_eq!(upload(&ann_token).await.status(), StatusCode::OK);
    let again: Value = upload(&ann_token).await.json().await.expect("JSON");
    assert_eq!(again["statusCode"], "409", "{again}");
    let read = async |key: &str, token: &str| {
        let request = project.request(Method::GET, &path).header("apikey", key).bearer_auth(token);
        let response = request.send().await.expect("a response");
        (response.status(), response.text().await.expect("text"))
    };
    assert_eq!(read(&publishable, &ann_token).await, (StatusCode::OK, "dear".to_owned()));
    assert_eq!(read(&publishable, &bob_token).await.0, StatusCode::BAD_REQUEST);
    // The key of the newer kind alone is the service role.
    let secret = project.server.text("secret_key");
    assert_eq!(read(&secret, &secret).await, (StatusCode::OK, "dear".to_owned()));
    let signed = project.request(Method::POST, &format!("/object/sign/papers/{ann}/letter.txt"));
    let signed = signed.header("apikey", &secret).json(&json!({"expiresIn": 60})).send().await.expect("a response");
    let signed: Value = signed.json().await.expect("JSON");
    let url = signed["signedURL"].as_str().expect("a URL").to_owned();
    assert_eq!(project.get(&url).await.text().await.expect("text"), "dear");
    let (_, token) = url.split_once("token=").expect("a token");
    for url in ["/rest/v1/", "/auth/v1/settings"].map(|path| project.server.url(path)) {
        let get = || project.server.client.get(&url);
        for request in [get().header("apikey", token), get().bearer_auth(token)] {
            let refused = request.send().await.expect("a response");
            assert_eq!(refused.status(), StatusCode::UNAUTHORIZED, "the token of one object opens {url}");
        }
    }
    let refused = project.request(Method::GET, "/bucket").header("apikey", token).send().await.expect("a response");
    assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "as without a key");
    let invalid = project.request(Method::GET, &path).header("apikey", "sb_secret_guess").send().await;
    assert_eq!(invalid.expect("a response").status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn shared_caches_keep_what_a_key_reads_for_that_key() {
    let project = Project::start(SETTINGS);
    project.wait_for_seeds().await;
    let secret = project.server.text("secret_key");
    let path = "/object/images/mark.svg";
    let vary = |response: &Response| {
        let values =
            response.headers().get_all("vary").iter().map(|value| value.to_str().expect("text").to_lowercase());
        values.collect::<Vec<_>>().join(", ")
    };
    let by_key = project.request(Method::GET, path).header("apikey", &secret).send().await.expect("a response");
    assert_eq!(by_key.status(), StatusCode::OK);
    assert!(["authorization", "apikey"].iter().all(|name| vary(&by_key).contains(name)), "{}", vary(&by_key));
    let public = project.get("/object/public/images/mark.svg").await;
    assert!(!vary(&public).contains("apikey"), "{}", vary(&public));
}

#[tokio::test]
async fn buckets_of_the_configuration_are_public_and_isolated() {
    let project = Project::start(SETTINGS);
    project.wait_for_seeds().await;
    for (path, media_type) in [("mark.svg", "image/svg+xml"), ("deep/page.html", "text/plain")] {
        let response = project.get(&format!("/object/public/images/{path}")).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        let header = |name: &str| response.headers()[name].to_str().expect("text").to_owned();
        assert_eq!(header("content-type"), media_type, "{path}");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert!(header("content-security-policy").starts_with("sandbox; default-src 'none'"), "{path}");
        assert_eq!(header("access-control-allow-origin"), "*");
    }
    let secret = project.server.text("secret_key");
    let large = project.request(Method::POST, "/object/papers/large").header("apikey", &secret);
    let large: Value = large.body(vec![0; 1_048_577]).send().await.expect("a response").json().await.expect("JSON");
    assert_eq!(large["statusCode"], "413", "{large}");
    let folder = project.folder.0.join("data/storage/objects");
    let files = || {
        std::fs::read_dir(&folder)
            .expect("a folder")
            .flat_map(|entry| std::fs::read_dir(entry.expect("an entry").path()).expect("a folder"))
            .count()
    };
    assert_eq!(files(), 2);
    let removed = project.request(Method::DELETE, "/object/images/mark.svg").header("apikey", &secret).send().await;
    assert_eq!(removed.expect("a response").status(), StatusCode::OK);
    assert_eq!(files(), 1);
}

#[tokio::test]
async fn folders_that_differ_in_case_are_two() {
    let project = Project::start(SETTINGS);
    project.wait_for_seeds().await;
    let secret = project.server.text("secret_key");
    let names = ["B/upper.txt", "C.txt", "a.txt", "b/one.txt", "b/two.txt", "c.txt"];
    for name in names {
        let request = project.request(Method::POST, &format!("/object/papers/{name}")).header("apikey", &secret);
        assert_eq!(request.body("text").send().await.expect("a response").status(), StatusCode::OK, "{name}");
    }
    for (prefix, order, offset, expected) in [
        ("", "asc", 0, vec!["B", "C.txt", "a.txt", "b", "c.txt"]),
        ("", "desc", 1, vec!["b", "a.txt", "C.txt", "B"]),
        ("", "asc", 4, vec!["c.txt"]),
        ("b", "asc", 0, vec!["one.txt", "two.txt"]),
        ("B/", "asc", 0, vec!["upper.txt"]),
        ("d", "asc", 0, vec![]),
    ] {
        let body = json!({ "prefix": prefix, "offset": offset, "sortBy": { "column": "name", "order": order } });
        let request = project.request(Method::POST, "/object/list/papers").header("apikey", &secret);
        let listed: Value = request.json(&body).send().await.expect("a response").json().await.expect("JSON");
        let listed: Vec<&str> =
            listed.as_array().expect("a list").iter().filter_map(|entry| entry["name"].as_str()).collect();
        assert_eq!(listed, expected, "{prefix:?} {order} {offset}");
    }
}

#[tokio::test]
async fn lists_in_a_database_of_an_operator_need_no_newer_function() {
    let owner = Basalt::serve(&["--ephemeral"]);
    let url = owner.text("database_url");
    let server = Basalt::serve_with(&["--ephemeral"], &[("DATABASE_URL", &url)]);
    let request = |path: &str| {
        let request = server.client.post(server.url(&format!("/storage/v1{path}")));
        request.header("apikey", server.text("secret_key"))
    };
    let created = request("/bucket").json(&json!({"name": "papers"})).send().await.expect("a response");
    assert_eq!(created.status(), StatusCode::OK);
    let stored = request("/object/papers/a.txt").body("text").send().await.expect("a response");
    assert_eq!(stored.status(), StatusCode::OK);
    // Supabase Storage of 2025 has it without the last parameter and without times.
    let mut database = PgConnection::connect(&url).await.expect("a connection");
    let older = "DROP FUNCTION storage.list_objects_with_delimiter(text, text, text, integer, text, text, text)";
    sqlx::raw_sql(older).execute(&mut database).await.expect("dropped");
    let listed = request("/object/list/papers").json(&json!({"prefix": ""})).send().await.expect("a response");
    let listed: Value = listed.json().await.expect("JSON");
    assert_eq!(listed[0]["name"], "a.txt", "{listed}");
}

#[tokio::test]
async fn resumable_uploads_have_urls_below_the_mount() {
    let project = Project::start("");
    let secret = project.server.text("secret_key");
    let create = project.request(Method::POST, "/upload/resumable").header("apikey", &secret);
    let create = create.header("tus-resumable", "1.0.0").header("upload-length", "5");
    let create = create.header("upload-metadata", "bucketName cGFwZXJz,objectName dHVzLnR4dA==").send().await;
    let created = create.expect("a response");
    assert_eq!(created.status(), StatusCode::CREATED);
    let location = created.headers()["location"].to_str().expect("text").to_owned();
    assert!(location.starts_with(&project.server.url("/storage/v1/upload/resumable/")), "{location}");
    let part = project.server.client.patch(&location).header("apikey", &secret).header("tus-resumable", "1.0.0");
    let part = part.header("upload-offset", "0").header("content-type", "application/offset+octet-stream");
    assert_eq!(part.body("hello").send().await.expect("a response").status(), StatusCode::NO_CONTENT);
    let read = project.request(Method::GET, "/object/papers/tus.txt").header("apikey", &secret).send().await;
    assert_eq!(read.expect("a response").text().await.expect("text"), "hello");
}

#[tokio::test]
async fn seeding_by_the_command_uploads_what_is_new_while_the_server_runs() {
    let project = Project::start(SETTINGS);
    project.wait_for_seeds().await;
    let secret = project.server.text("secret_key");
    let removed = project.request(Method::DELETE, "/object/images/deep/page.html").header("apikey", &secret);
    assert_eq!(removed.send().await.expect("a response").status(), 200);
    project.folder.write("supabase/images/new.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1\"/>");
    let (config, data) = (project.folder.path("supabase/config.toml"), project.folder.path("data"));
    let seed = || {
        let output = run(&["storage", "seed", "--config", &config, "--data", &data]);
        (output.status.code(), String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    assert_eq!(seed(), (Some(0), "Created what was missing of 1 bucket; uploaded 2 objects.".to_owned()));
    assert_eq!(seed(), (Some(0), "Created what was missing of 1 bucket; uploaded 0 objects.".to_owned()));
    for path in ["new.svg", "deep/page.html"] {
        let found = project.get(&format!("/object/public/images/{path}")).await;
        assert_eq!(found.status(), StatusCode::OK, "{path}");
    }
    let nowhere = project.folder.path("nowhere");
    let refused = run(&["storage", "seed", "--config", &config, "--data", &nowhere]);
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && text.contains("start it with `basalt serve`"), "{text}");
}

#[tokio::test]
async fn missing_folder_of_objects_is_named() {
    let project = Project::start("[storage.buckets.images]\nobjects_path = \"./nowhere\"\n");
    let notice = "line 2: storage.buckets.images.objects_path: there is no folder ./nowhere";
    let (config, data) = (project.folder.path("supabase/config.toml"), project.folder.path("data"));
    for command in [&["check"][..], &["storage", "seed"]] {
        let output = run(&[command, &["--config", &config, "--data", &data]].concat());
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        assert!(output.status.success() && text.matches(notice).count() == 1, "{command:?}: {text}");
    }
    assert!(project.server.log().contains(notice), "{}", project.server.log());
}

#[tokio::test]
async fn content_is_read_at_a_host_of_its_own() {
    let folder = TempFolder::new();
    std::fs::create_dir_all(folder.0.join("images")).expect("a folder");
    folder.write("images/mark.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>");
    let settings = "[storage.buckets.images]\npublic = true\nobjects_path = \"./images\"\n\
        [basalt.storage]\ncontent_url = \"http://files.example:8080\"\n";
    let config = folder.write("config.toml", settings);
    let data = folder.path("data");
    let server = Basalt::serve(&["--data", &data, "--config", &config]);
    let project = Project { server, folder };
    let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build();
    let client = client.expect("a client");
    let path = "/storage/v1/object/public/images/mark.svg";
    let get = async |path: &str, host: Option<&str>| {
        let request = client.get(project.server.url(path));
        let request = match host {
            Some(host) => request.header("host", host),
            None => request,
        };
        request.send().await.expect("a response")
    };
    let redirected = get(path, None).await;
    assert_eq!(redirected.status(), StatusCode::TEMPORARY_REDIRECT);
    assert_eq!(redirected.headers()["location"], format!("http://files.example:8080{path}"));
    assert_eq!(redirected.headers()["access-control-allow-origin"], "*");
    let host = Some("files.example:8080");
    for attempt in 0.. {
        let response = get(path, host).await;
        if response.status() == StatusCode::OK {
            assert_eq!(response.headers()["content-type"], "image/svg+xml");
            break;
        }
        assert!(attempt < 400, "the buckets of the project are missing");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    for path in ["/", "/auth/v1/settings", "/storage/v1/bucket"] {
        assert_eq!(get(path, host).await.status(), StatusCode::NOT_FOUND, "{path}");
    }
    let program = project.request(Method::GET, "/object/images/mark.svg");
    let program = program.header("apikey", project.server.text("secret_key")).send().await.expect("a response");
    assert_eq!(program.status(), StatusCode::OK, "programs with a key are not redirected");
}

#[tokio::test]
async fn missing_policies_are_named_in_development_alone() {
    let upload = async |project: &Project, upsert: &str| {
        let request = project.request(Method::POST, "/object/papers/a.txt").header("x-upsert", upsert);
        let request = request.header("apikey", project.server.text("publishable_key")).body("a");
        let response = request.header("content-type", "text/plain").send().await.expect("a response");
        response.json::<Value>().await.expect("JSON")
    };
    let project = Project::start("");
    assert_eq!(
        upload(&project, "true").await["hint"],
        "storage.object.upload needs policies on storage.objects for INSERT, SELECT and UPDATE; anon has none for INSERT, \
         SELECT and UPDATE"
    );
    let bucket = project.request(Method::POST, "/bucket").header("apikey", project.server.text("publishable_key"));
    let refused = bucket.json(&json!({"name": "other"})).send().await.expect("a response");
    assert_eq!(
        refused.json::<Value>().await.expect("JSON")["hint"],
        "storage.bucket.create needs policies on storage.buckets for INSERT; anon has none for INSERT"
    );
    let hidden = Project::start("[basalt]\ndevelopment_pages = false\n");
    let refused = upload(&hidden, "true").await;
    assert_eq!(refused["message"], "new row violates row-level security policy", "{refused}");
    assert_eq!(refused.get("hint"), None, "{refused}");
}

#[tokio::test]
async fn explanation_of_a_refused_upload_names_role_table_and_missing_policies() {
    let upload = async |project: &Project| {
        let request = project.request(Method::POST, "/object/papers/a.txt").header("content-type", "text/plain");
        let request = request.header("apikey", project.server.text("publishable_key")).body("a");
        let response = request.send().await.expect("a response");
        assert_eq!(response.status(), StatusCode::BAD_REQUEST);
        response.headers().get("x-basalt-explain").map(|link| link.to_str().expect("text").to_owned())
    };
    let project = Project::start("");
    let link = upload(&project).await.expect("a link");
    let get =
        async |url: &str| project.server.client.get(url).send().await.expect("an answer").text().await.expect("text");
    let shown: Value = serde_json::from_str(&get(&format!("{link}.json")).await).expect("JSON");
    assert_eq!(
        (&shown["code"], &shown["request"]["path"]),
        (&json!("AccessDenied"), &json!("/storage/v1/object/papers/a.txt"))
    );
    assert_eq!(shown["decision"]["inputs"]["missing"], json!(["INSERT"]), "{shown}");
    let page = get(&link).await;
    for text in [
        "storage.object.upload needs policies on storage.objects for INSERT; anon has none for INSERT.",
        "CREATE POLICY … ON storage.objects FOR INSERT TO anon WITH CHECK (…);",
        "<li>role: anon</li>",
        "<li>table: storage.objects</li>",
    ] {
        assert!(page.contains(text), "{text} in {page}");
    }
    let hidden = Project::start("[basalt]\ndevelopment_pages = false\n");
    assert_eq!(upload(&hidden).await, None);
}

/// A session of the S3 protocol with the rights of the anonymous key (AWS Signature Version 4).
fn sign_put(project: &Project, path: &str, body: &str) -> reqwest::RequestBuilder {
    let sha256 = |text: &str| hex::encode(digest::digest(&digest::SHA256, text.as_bytes()).as_ref());
    let mac =
        |key: &[u8], text: &str| hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec();
    let (key, url) = (project.server.text("anon_key"), project.server.url(path));
    let host = url.strip_prefix("http://").and_then(|rest| rest.split('/').next()).expect("a host").to_owned();
    let time = SystemClock.now().format("%Y%m%dT%H%M%SZ").to_string();
    let (day, sum) = (&time[..8], sha256(body));
    let fields = format!("host:{host}\nx-amz-content-sha256:{sum}\nx-amz-date:{time}\nx-amz-security-token:{key}\n");
    let names = "host;x-amz-content-sha256;x-amz-date;x-amz-security-token";
    let scope = format!("{day}/local/s3/aws4_request");
    let canonical = sha256(&format!("PUT\n{path}\n\n{fields}\n{names}\n{sum}"));
    let secret = [day, "local", "s3", "aws4_request"];
    let secret = secret.iter().fold(format!("AWS4{key}").into_bytes(), |secret, part| mac(&secret, part));
    let proof = hex::encode(mac(&secret, &format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{canonical}")));
    let value = format!("AWS4-HMAC-SHA256 Credential=stub/{scope}, SignedHeaders={names}, Signature={proof}");
    let request = project.server.client.put(url).header("x-amz-date", time).header("x-amz-content-sha256", sum);
    request.header("x-amz-security-token", key).header("authorization", value).body(body.to_owned())
}

#[tokio::test]
async fn refused_resumable_and_s3_uploads_have_the_same_explanation() {
    let resumable = |project: &Project| {
        let request = project.request(Method::POST, "/upload/resumable").header("tus-resumable", "1.0.0");
        let request = request.header("apikey", project.server.text("publishable_key")).header("upload-length", "5");
        request.header("upload-metadata", "bucketName cGFwZXJz,objectName dHVzLnR4dA==")
    };
    let s3 = |project: &Project| sign_put(project, "/storage/v1/s3/papers/a.txt", "hello");
    let link_of = |response: &Response| {
        response.headers().get("x-basalt-explain").map(|link| link.to_str().expect("text").to_owned())
    };
    let project = Project::start("");
    let refused = [
        (resumable(&project), "storage.tus.upload.create", json!(["INSERT"])),
        (s3(&project), "storage.s3.upload", json!(["INSERT", "SELECT", "UPDATE"])),
    ];
    for (request, operation, missing) in refused {
        let response = request.send().await.expect("a response");
        assert_eq!(response.status(), StatusCode::FORBIDDEN, "{operation}");
        let link = link_of(&response).expect(operation);
        let text = response.text().await.expect("text");
        assert!(text.contains("new row violates row-level security policy"), "{text}");
        let shown = project.server.client.get(format!("{link}.json")).send().await.expect("an answer");
        let shown: Value = shown.json().await.expect("JSON");
        let inputs = &shown["decision"]["inputs"];
        assert_eq!((&inputs["operation"], &inputs["role"]), (&json!(operation), &json!("anon")), "{shown}");
        assert_eq!((&inputs["table"], &inputs["missing"]), (&json!("storage.objects"), &missing), "{shown}");
    }
    let hidden = Project::start("[basalt]\ndevelopment_pages = false\n");
    for request in [resumable(&hidden), s3(&hidden)] {
        let response = request.send().await.expect("a response");
        assert_eq!((response.status(), link_of(&response)), (StatusCode::FORBIDDEN, None));
    }
}

#[tokio::test]
async fn storage_that_is_switched_off_is_not_served() {
    let project = Project::start("[storage]\nenabled = false\n");
    assert_eq!(project.get("/object/public/images/mark.svg").await.status(), StatusCode::NOT_FOUND);
}
