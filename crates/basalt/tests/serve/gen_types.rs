//! `basalt gen types`.

use crate::support::{Basalt, TempFolder, run};

const MIGRATION: &str =
    "CREATE TABLE public.todos (id int PRIMARY KEY, title text NOT NULL, done boolean DEFAULT false);
    CREATE SCHEMA app; CREATE TABLE app.notes (id int PRIMARY KEY);";

fn generate(arguments: &[&str]) -> String {
    let all: Vec<&str> = ["gen", "types"].iter().chain(arguments).copied().collect();
    let output = run(&all);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn types_of_the_project_are_generated_with_and_without_a_server() {
    let folder = TempFolder::new();
    std::fs::create_dir_all(folder.0.join("supabase/migrations")).expect("folders");
    let config = folder.write("supabase/config.toml", "");
    folder.write("supabase/migrations/20260101000000_todos.sql", MIGRATION);
    let (data, place) = (folder.path("data"), ["--config", &config]);
    let own = generate(&[&place[..], &["--data", &data]].concat());
    let row = "      todos: {\n        Row: {\n          done: boolean | null\n          id: number\n          title: string\n        }\n";
    assert!(own.contains(row), "{own}");
    assert!(own.contains("  graphql_public: {") && !own.contains("  app: {"), "{own}");

    let server = Basalt::serve(&["--config", &config, "--data", &data, "--port", "0"]);
    let running = generate(&[&place[..], &["--data", &data, "--lang", "typescript", "--local"]].concat());
    assert_eq!(running, own);
    let app = generate(&["typescript", "--db-url", &server.text("database_url"), "--schema", "app"]);
    assert!(app.contains("  app: {\n    Tables: {\n      notes: {") && !app.contains("todos"), "{app}");

    let url = server.text("database_url");
    for (arguments, expected) in [
        (["--db-url", &*url, "--schema", "app,nope"], "no schema nope that its role may use; it has app, auth, "),
        (["--db-url", "nonsense", "--schema", "app"], "--database-url: "),
        (["--db-url", "postgres://a:hidden@127.0.0.1:1/b", "--schema", "app"], "connecting to 127.0.0.1 port 1"),
    ] {
        let refused = run(&[&["gen", "types"][..], &arguments].concat());
        let text = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && refused.stdout.is_empty(), "{arguments:?}");
        assert!(text.contains(expected) && !text.contains("db-uri") && !text.contains("hidden"), "{text}");
    }
    let refused = run(&["gen", "types", "--lang", "cobol"]);
    assert_eq!(refused.status.code(), Some(2), "no such language");
}
