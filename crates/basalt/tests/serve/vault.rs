//! The vault of a project: rows that statements insert themselves.

use super::project_schema::{TestProject, connect, texts};

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
