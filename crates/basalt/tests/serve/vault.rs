//! The vault of a project: rows that statements insert themselves, and the secrets of `[db.vault]`.

use super::project_schema::{TestProject, connect, stop, texts};
use super::support::{Basalt, basalt};

const DECRYPTED: &str =
    "SELECT name || '=' || coalesce(decrypted_secret, '-') FROM vault.decrypted_secrets ORDER BY name";
const PLAIN: &str = "SELECT name FROM vault.secrets WHERE secret LIKE '%value%' ORDER BY name";

#[tokio::test]
async fn inserted_and_updated_secrets_are_encrypted_and_a_bad_row_hides_no_other() {
    let project = TestProject::new(&[(
        "migrations/1_secrets.sql",
        "insert into vault.secrets (name, secret) values ('inserted', 'value 1');
         select vault.create_secret('value 2', 'created');
         insert into vault.secrets (name, secret) values ('updated', 'x'), ('moved', 'value 4');
         update vault.secrets set secret = 'value 3' where name = 'updated';
         update vault.secrets set id = gen_random_uuid() where name = 'moved';",
    )]);
    let server = project.serve();
    let mut connection = connect(&server).await;
    let expected = ["created=value 2", "inserted=value 1", "moved=value 4", "updated=value 3"];
    assert_eq!(texts(&mut connection, DECRYPTED).await, expected);
    assert_eq!(texts(&mut connection, PLAIN).await, Vec::<String>::new());
    // Rows of a dump keep their ciphertext.
    let restore = "CREATE TEMPORARY TABLE dump AS SELECT * FROM vault.secrets; DELETE FROM vault.secrets;
        INSERT INTO vault.secrets SELECT * FROM dump";
    sqlx::raw_sql(restore).execute(&mut connection).await.expect("restored");
    assert_eq!(texts(&mut connection, DECRYPTED).await, expected);
    let damage = "ALTER TABLE vault.secrets DISABLE TRIGGER USER;
        UPDATE vault.secrets SET secret = 'no ciphertext' WHERE name = 'moved';
        UPDATE vault.secrets SET secret = (SELECT secret FROM vault.secrets WHERE name = 'created') WHERE name = 'updated'";
    sqlx::raw_sql(damage).execute(&mut connection).await.expect("damaged");
    let decrypted = texts(&mut connection, DECRYPTED).await;
    assert_eq!(decrypted, ["created=value 2", "inserted=value 1", "moved=-", "updated=-"]);
}

#[tokio::test]
async fn secrets_of_the_configuration_are_in_the_vault_after_every_start() {
    let project = TestProject::new(&[(
        "migrations/1_secrets.sql",
        "select vault.create_secret('old value', 'known', 'described');",
    )]);
    let configure = |value: &str| {
        let text = format!(
            "[db.vault]\nknown = \"env(BASALT_TEST_SECRET)\"\nnew = \"{value}\"\nunset = \"env(BASALT_TEST_UNSET)\"\n"
        );
        project.write("config.toml", &text);
    };
    let serve =
        || Basalt::start(basalt().current_dir(&project.0.0).env("BASALT_TEST_SECRET", "value of the environment"), &[]);
    configure("value 1");
    let server = serve();
    let known = "known=value of the environment";
    assert_eq!(texts(&mut connect(&server).await, DECRYPTED).await, [known, "new=value 1"]);
    stop(server);
    configure("value 2");
    let server = serve();
    let mut connection = connect(&server).await;
    assert_eq!(texts(&mut connection, DECRYPTED).await, [known, "new=value 2"]);
    assert_eq!(texts(&mut connection, PLAIN).await, Vec::<String>::new());
    let kept = "SELECT description FROM vault.secrets WHERE name = 'known'";
    assert_eq!(texts(&mut connection, kept).await, ["described"]);
    drop(connection);
    stop(server);
    let (output, log) = project.run(&["db", "reset", "--yes"]);
    assert!(output.status.success(), "{log}");
    assert!(!log.contains("value 2"), "{log}");
    let server = Basalt::start(basalt().current_dir(&project.0.0), &[]);
    assert_eq!(texts(&mut connect(&server).await, DECRYPTED).await, ["known=old value", "new=value 2"]);
}

#[tokio::test]
async fn migration_of_a_running_server_writes_the_secrets_of_the_configuration() {
    let project = TestProject::new(&[]);
    let server = project.serve();
    project.write("config.toml", "[db.vault]\nnew = \"value 1\"\n");
    let (output, log) = project.run(&["db", "migrate"]);
    assert!(output.status.success(), "{log}");
    assert_eq!(texts(&mut connect(&server).await, DECRYPTED).await, ["new=value 1"]);
}
