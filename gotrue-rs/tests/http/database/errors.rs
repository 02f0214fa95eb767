//! With the hardened policy no client sees database errors, for every constraint.

use gotrue_rs::testing::World;
use platform::testing::Answer;
use serde_json::{Value, json};

/// In every text of the raised errors; no answer may contain it.
const MARK: &str = "zanzibar";

/// Every constraint and unique index of our schemas, with its SQLSTATE.
const CONSTRAINTS: &str = "
    SELECT conname || ' ' || CASE contype WHEN 'c' THEN '23514' WHEN 'f' THEN '23503' WHEN 'x' THEN '23P01' ELSE '23505' END
    FROM pg_constraint c JOIN pg_namespace n ON n.oid = c.connamespace WHERE n.nspname IN ('auth', 'basalt')
    UNION
    SELECT indexrelid::regclass::text || ' 23505' FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace WHERE i.indisunique AND n.nspname IN ('auth', 'basalt')
    UNION SELECT code || ' ' || code
    FROM unnest(ARRAY['P0001', '23000', '23001', '23502', 'PT418', '22001', '42501', 'XX000']) code";

/// Makes every write of a user or a session fail like this.
async fn raise(world: &World, constraint: &str, sqlstate: &str) {
    let sql = format!(
        "CREATE OR REPLACE FUNCTION auth.fail() RETURNS trigger LANGUAGE plpgsql AS $f$ BEGIN
             RAISE EXCEPTION USING ERRCODE = '{sqlstate}', CONSTRAINT = '{constraint}', MESSAGE = 'duplicate {MARK}',
                 DETAIL = 'Key (email)=({MARK}@example.com) exists', HINT = '{MARK}';
         END $f$;"
    );
    world.database.query(&sql).await;
}

async fn failing(world: &World) {
    for table in ["users", "sessions"] {
        let sql = format!(
            "CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON auth.{table} FOR EACH ROW EXECUTE FUNCTION auth.fail()"
        );
        world.database.query(&sql).await;
    }
}

async fn answers(world: &World, token: &str, refresh: &str) -> Vec<Answer> {
    let admin = world.service_token();
    let new = json!({"email": "new@example.com", "password": "correct horse"});
    vec![
        world.post("/signup", new.clone()).await,
        world.post("/otp", json!({"email": "other@example.com"})).await,
        world.post_as(&admin, "/admin/users", new).await,
        world.put_as(token, "/user", json!({"data": {"a": 1}})).await,
        world.try_password("ann@example.com", gotrue_rs::testing::PASSWORD).await,
        world.refresh(refresh).await,
    ]
}

#[tokio::test]
async fn hardened_policy_hides_constraint_errors() {
    let world = World::builder().as_served().build().await;
    let ann = world.create_user("ann@example.com").await;
    let constraints = world.database.query(CONSTRAINTS).await;
    assert!(constraints.len() > 40, "{constraints:?}");
    raise(&world, "none", "23505").await;
    failing(&world).await;
    let mut refused = 0;
    for constraint in constraints {
        let (name, sqlstate) = constraint.split_once(' ').expect("a name and a code");
        raise(&world, name, sqlstate).await;
        for answer in answers(&world, &ann.access_token, &ann.refresh_token).await {
            let headers = format!("{:?}", answer.headers);
            assert!(!answer.text.contains(MARK) && !headers.contains(MARK), "{constraint}: {}", answer.text);
            assert!(!answer.text.contains(name) && !answer.text.contains("duplicate"), "{constraint}: {}", answer.text);
            refused += usize::from(answer.status.as_u16() >= 500);
        }
    }
    assert!(refused > 200, "only {refused} requests met the failing trigger");
}

#[tokio::test]
async fn gotrue_mode_returns_trigger_errors_as_recorded() {
    let world = World::new().await;
    raise(&world, "", "P0001").await;
    failing(&world).await;
    let answer = world.post("/signup", json!({"email": "new@example.com", "password": "correct horse"})).await;
    assert_eq!(
        (answer.status.as_u16(), answer.json.get("code")),
        (500, Some(&Value::from("P0001"))),
        "{}",
        answer.text
    );
    assert!(answer.text.contains(MARK), "{}", answer.text);
}
