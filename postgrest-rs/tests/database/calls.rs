//! Functions whose rows embed related ones: filters, orders and limits of the embeds beside the arguments of the function.

use serde_json::{Value, json};

use crate::api::{TestApi, text};

const OBJECTS: &str = "CREATE TABLE harbours (id int PRIMARY KEY, name text);
  INSERT INTO harbours VALUES (1, 'Altmark'), (2, 'Brise');
  CREATE TABLE boats (id int PRIMARY KEY, name text, harbour int REFERENCES harbours);
  INSERT INTO boats VALUES (1, 'Aurora', 1), (2, 'Bora', 1), (3, 'Cirrus', 2), (4, 'Dune', NULL);
  CREATE FUNCTION all_boats() RETURNS SETOF boats LANGUAGE sql STABLE AS 'SELECT * FROM boats ORDER BY id';
  CREATE FUNCTION all_harbours() RETURNS SETOF harbours LANGUAGE sql STABLE AS 'SELECT * FROM harbours ORDER BY id';
  CREATE FUNCTION boats_named(name text) RETURNS SETOF boats LANGUAGE sql STABLE
    AS 'SELECT * FROM boats WHERE boats.name = $1';
  CREATE FUNCTION one_boat(id int) RETURNS boats LANGUAGE sql STABLE AS 'SELECT * FROM boats WHERE boats.id = $1';";

#[tokio::test]
async fn embeds_of_a_call_are_filtered_ordered_and_limited() {
    let api = TestApi::start(OBJECTS, &[]).await;
    let altmark = json!({"name": "Altmark"});
    let cases: [(&str, Value); 13] = [
        (
            "all_boats?select=id,harbours(name)&harbours.name=eq.Altmark",
            json!([{"id": 1, "harbours": altmark}, {"id": 2, "harbours": altmark}, {"id": 3, "harbours": null},
                {"id": 4, "harbours": null}]),
        ),
        (
            "all_boats?select=id,harbours!inner(name)&harbours.name=eq.Altmark",
            json!([{"id": 1, "harbours": altmark}, {"id": 2, "harbours": altmark}]),
        ),
        ("all_boats?select=id,harbours()&harbours=is.null", json!([{"id": 4}])),
        (
            "all_boats?select=id,harbours(name)&harbours=not.is.null&order=harbours(name).desc,id.desc",
            json!([{"id": 3, "harbours": {"name": "Brise"}}, {"id": 2, "harbours": altmark},
                {"id": 1, "harbours": altmark}]),
        ),
        (
            "all_harbours?select=id,boats(id)&boats.id=gt.1&boats.order=id.desc&boats.limit=1",
            json!([{"id": 1, "boats": [{"id": 2}]}, {"id": 2, "boats": [{"id": 3}]}]),
        ),
        (
            "all_harbours?select=id,boats(id)&boats.or=(id.eq.1,id.eq.3)",
            json!([{"id": 1, "boats": [{"id": 1}]}, {"id": 2, "boats": [{"id": 3}]}]),
        ),
        (
            "all_harbours?select=id,...boats(boat:id)&boats.id=gt.1",
            json!([{"id": 1, "boat": [2]}, {"id": 2, "boat": [3]}]),
        ),
        (
            "all_harbours?select=id,boats(id,harbours(name))&boats.harbours.name=eq.Brise&boats.id=gt.1",
            json!([{"id": 1, "boats": [{"id": 2, "harbours": null}]},
                {"id": 2, "boats": [{"id": 3, "harbours": {"name": "Brise"}}]}]),
        ),
        (
            "boats_named?name=Aurora&select=id,harbours(name)&harbours.name=eq.Altmark",
            json!([{"id": 1, "harbours": altmark}]),
        ),
        // The argument has no operator, the filter of the same name has one.
        ("boats_named?name=Aurora&name=eq.Bora", json!([])),
        ("one_boat?id=1&select=id,harbours(name)&harbours.id=eq.2", json!({"id": 1, "harbours": null})),
        (
            "all_boats?select=id,h:harbours(name)&h.name=eq.Altmark&and=(id.lt.2,h.not.is.null)",
            json!([{"id": 1, "h": altmark}]),
        ),
        ("all_boats?select=id&id=gt.2&limit=1&order=id.desc", json!([{"id": 4}])),
    ];
    for (call, expected) in cases {
        let answer = api.get(&format!("/rpc/{call}")).await;
        let body: Value = serde_json::from_str(&text(&answer)).unwrap();
        assert_eq!((answer.status().as_u16(), body), (200, expected), "{call}");
    }
    let refused = api.get("/rpc/all_boats?harbours.name=eq.Altmark").await;
    assert_eq!((refused.status().as_u16(), text(&refused).contains("PGRST108")), (400, true), "{}", text(&refused));
}
