//! Recordings of the data API and the storage API, replayed with the project and with another policy.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::{Client, Method, RequestBuilder};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::support::{Folder, Program, printed, run};

const CONFIG: &str = "project_id = \"content\"\n[auth.email]\nenable_confirmations = false\n";
const MIGRATION: &str = "supabase/migrations/20260101000000_notes.sql";
const TITLE: &str = "Letter to Zoe Zanzibar";
const CONTENT: &str = "Dear Zoe, this is private.";

/// What a browser sends of a file.
const FORM: &str = "--form1\r\nContent-Disposition: form-data; name=\"cacheControl\"\r\n\r\n3600\r\n\
    --form1\r\nContent-Disposition: form-data; name=\"metadata\"\r\n\r\n{\"by\":\"Zoe Z.\"}\r\n\
    --form1\r\nContent-Disposition: form-data; name=\"\"; filename=\"zoe.txt\"\r\nContent-Type: text/plain\r\n\r\n\
    CONTENT\r\n--form1--\r\n";

const SCHEMA: &str = "CREATE TABLE public.notes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner uuid NOT NULL DEFAULT auth.uid(),
    title text NOT NULL,
    pages int NOT NULL DEFAULT 1,
    tags text[] NOT NULL DEFAULT '{}',
    due timestamptz
);
ALTER TABLE public.notes ENABLE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON public.notes TO authenticated;
CREATE POLICY own ON public.notes FOR ALL TO authenticated USING (owner = auth.uid()) WITH CHECK (owner = auth.uid());
CREATE FUNCTION public.count_notes(of text) RETURNS bigint LANGUAGE sql STABLE AS
    $$ SELECT count(*) FROM public.notes WHERE title = of $$;
INSERT INTO storage.buckets (id, name, public) VALUES ('papers', 'papers', false);
CREATE POLICY papers ON storage.objects FOR ALL TO authenticated
    USING (bucket_id = 'papers' AND (storage.foldername(name))[1] = auth.uid()::text)
    WITH CHECK (bucket_id = 'papers' AND (storage.foldername(name))[1] = auth.uid()::text);
";

/// An application with a session behind a recorder.
struct Application {
    client: Client,
    url: String,
    key: String,
    token: Option<String>,
}

impl Application {
    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.url)).header("apikey", &self.key);
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    async fn json(&self, request: RequestBuilder) -> Value {
        let response = request.send().await.expect("a response");
        let (status, text) = (response.status(), response.text().await.expect("text"));
        assert!(status.is_success(), "{status} {text}");
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Writes, reads and removes rows.
    async fn use_rows(&self) {
        let insert = self.request(Method::POST, "/rest/v1/notes").header("prefer", "return=representation");
        let row =
            json!({ "title": TITLE, "pages": 12, "tags": ["Zoe", "Zanzibar"], "due": "2031-08-09T10:11:12+02:00" });
        let made = self.json(insert.json(&row)).await;
        let id = made[0]["id"].as_i64().expect("an id");
        let select = format!("/rest/v1/notes?select=id,title&title=eq.{}&order=id.asc", TITLE.replace(' ', "%20"));
        let found = self.json(self.request(Method::GET, &select).header("prefer", "count=exact")).await;
        assert_eq!(found.as_array().map(Vec::len), Some(1));
        let tagged = self.json(self.request(Method::GET, "/rest/v1/notes?tags=cs.%7BZoe%7D&due=gt.2030-01-01")).await;
        assert_eq!(tagged.as_array().map(Vec::len), Some(1));
        let refused = self.request(Method::GET, "/rest/v1/letters?title=eq.Zoe").send().await.expect("a response");
        assert_eq!(refused.status(), 404);
        let head = self.request(Method::HEAD, "/rest/v1/notes?select=id").header("prefer", "count=exact");
        assert_eq!(head.send().await.expect("a response").headers()["content-range"], "0-0/1");
        let one = format!("/rest/v1/notes?id=eq.{id}");
        let update = self.request(Method::PATCH, &one).header("prefer", "return=representation");
        self.json(update.json(&json!({ "title": "Another letter to Zoe" }))).await;
        let count = self.request(Method::POST, "/rest/v1/rpc/count_notes");
        assert_eq!(self.json(count.json(&json!({ "of": "Another letter to Zoe" }))).await, 1);
        self.json(self.request(Method::DELETE, &one)).await;
    }

    /// Uploads an object of the user as browsers upload large ones (TUS 1.0.0).
    async fn upload_in_parts(&self, user: &str) {
        let (bucket, name) = (STANDARD.encode("papers"), STANDARD.encode(format!("{user}/zoe in parts.txt")));
        let create = self.request(Method::POST, "/storage/v1/upload/resumable").header("tus-resumable", "1.0.0");
        let create = create.header("upload-length", CONTENT.len());
        let create = create.header("upload-metadata", format!("bucketName {bucket},objectName {name}"));
        let created = create.send().await.expect("a response");
        assert_eq!(created.status(), 201);
        let location = created.headers()["location"].to_str().expect("text").to_owned();
        let path = location.find("/storage/v1").map(|at| location[at..].to_owned()).expect("a URL of the storage API");
        let (first, second) = CONTENT.split_at(10);
        for (offset, part) in [(0, first), (first.len(), second)] {
            let request = self.request(Method::PATCH, &path).header("tus-resumable", "1.0.0");
            let request = request.header("content-type", "application/offset+octet-stream");
            let uploaded = request.header("upload-offset", offset).body(part).send().await.expect("a response");
            assert_eq!(uploaded.status(), 204);
        }
        let asked = self.request(Method::HEAD, &path).header("tus-resumable", "1.0.0").send().await;
        assert!(asked.expect("a response").status().is_success());
    }

    /// Writes, reads, signs, lists and removes an object of the user.
    async fn use_objects(&self, user: &str) {
        let path = format!("{user}/zoe zanzibar.txt").replace(' ', "%20");
        let upload = self.request(Method::POST, &format!("/storage/v1/object/papers/{path}"));
        self.json(upload.header("content-type", "text/plain").header("x-upsert", "false").body(CONTENT)).await;
        let download = self.request(Method::GET, &format!("/storage/v1/object/papers/{path}"));
        assert_eq!(download.send().await.expect("a response").text().await.expect("text"), CONTENT);
        let replace = self.request(Method::PUT, &format!("/storage/v1/object/papers/{path}"));
        let replace = replace.header("content-type", "multipart/form-data; boundary=form1");
        self.json(replace.body(FORM.replace("CONTENT", CONTENT))).await;
        self.upload_in_parts(user).await;
        let sign = self.request(Method::POST, &format!("/storage/v1/object/sign/papers/{path}"));
        let signed = self.json(sign.json(&json!({ "expiresIn": 60 }))).await;
        let url = format!("{}/storage/v1{}", self.url, signed["signedURL"].as_str().expect("a URL"));
        assert_eq!(self.client.get(url).send().await.expect("a response").status(), 200);
        let list = json!({ "prefix": user, "limit": 100, "offset": 0, "sortBy": { "column": "name", "order": "asc" } });
        let listed = self.json(self.request(Method::POST, "/storage/v1/object/list/papers").json(&list)).await;
        assert_eq!(listed.as_array().map(Vec::len), Some(2));
        let remove = json!({ "prefixes": [format!("{user}/zoe zanzibar.txt")] });
        self.json(self.request(Method::DELETE, "/storage/v1/object/papers").json(&remove)).await;
    }
}

/// Records what an application does with a project and returns the project's folder.
async fn record() -> Folder {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.0.join("supabase/migrations")).expect("folders");
    std::fs::write(folder.0.join("supabase/config.toml"), CONFIG).expect("written");
    std::fs::write(folder.0.join(MIGRATION), SCHEMA).expect("written");
    let config = folder.path("supabase/config.toml");
    let server = Program::start(&["serve", "--ephemeral", "--json", "--port", "0", "--config", &config]);
    let out = folder.path("flows");
    let options =
        ["record", "--upstream", &server.text("url"), "--port", "0", "--out", &out, "--name", "notes", "--json"];
    let recorder = Program::start(&options);
    let client = Client::builder().no_proxy().build().expect("a client");
    let mut app = Application { client, url: recorder.text("url"), key: server.text("publishable_key"), token: None };
    let user = json!({ "email": "zoe@corp.example", "password": "correct horse battery" });
    let session = app.json(app.request(Method::POST, "/auth/v1/signup").json(&user)).await;
    app.token = session["access_token"].as_str().map(str::to_owned);
    app.use_rows().await;
    app.use_objects(session["user"]["id"].as_str().expect("an id")).await;
    assert!(recorder.end(Signal::INT));
    assert!(server.end(Signal::TERM));
    folder
}

#[tokio::test]
async fn rows_and_objects_are_replayed_with_their_project_and_a_changed_policy_is_named() {
    let folder = record().await;
    let text = folder.read("flows/notes.json");
    for private in ["Zoe", "zoe", "Zanzibar", "Dear", "corp.example"] {
        assert!(!text.contains(private), "{private}: {text}");
    }
    for kept in [
        "/notes?select=id,title&title=eq.",
        "/rpc/count_notes",
        "/object/papers/",
        "count=exact",
        "\"0-0/1\"",
        "HEAD",
        "{{location",
    ] {
        assert!(text.contains(kept), "{kept}: {text}");
    }
    let (flows, config) = (folder.path("flows"), folder.path("supabase/config.toml"));
    let replayed = run(&["replay", &flows, "--config", &config]);
    assert_eq!(replayed.status.code(), Some(0), "{}\n{text}", printed(&replayed));

    let stricter =
        SCHEMA.replace("FOR ALL TO authenticated USING (owner = auth.uid()) WITH", "FOR INSERT TO authenticated WITH");
    std::fs::write(folder.0.join(MIGRATION), stricter).expect("written");
    let replayed = run(&["replay", &flows, "--config", &config]);
    let said = printed(&replayed);
    assert_eq!(replayed.status.code(), Some(1), "{said}");
    assert!(said.contains("POST /rest/v1/notes") && said.contains("status\n") && said.contains("+ 403"), "{said}");
}
