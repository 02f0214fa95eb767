//! The statements fit the schema, and sequences of operations keep its rules.

use chrono::TimeDelta;
use orders::admin::{self, OrderFilter};
use orders::{OrderState, Provider};
use platform::testing::{assert_part_is_repeated, check_statements, named_sql};
use sqlx::ConnectOptions;

use crate::fixture::{TestShop, session};

#[tokio::test]
async fn statements_match_schema() {
    let shop = TestShop::start().await;
    let mut connection = shop.pool.connect_options().connect().await.expect("the test server answers");
    assert_eq!(check_statements(&mut connection, orders::store::list_statements()).await, [""; 0]);
}

#[test]
fn repeated_parts_are_alike() {
    let sql = |name: &str| {
        named_sql(orders::store::list_statements().iter().find(|one| one.name() == name).expect("it is listed"))
    };
    let assert = |marker, part: &str| assert_part_is_repeated(orders::store::list_statements(), marker, part);
    assert("unknown_template", "IN ('unknown_template', 'wrong_amount', 'no_buyer')");
    let event = sql("orders.record_event");
    let replaced = event.split("ON CONFLICT").nth(1).and_then(|rest| rest.split("e.event_id").next());
    assert("INSERT INTO basalt.payment_events", replaced.expect("it replaces an event"));
    let count = sql("orders.count_by_state");
    let filter = count.split("WHERE").nth(1).and_then(|rest| rest.split("GROUP BY").next());
    assert(":search", filter.expect("it has a filter"));
}

#[tokio::test]
async fn lists_have_filters_counts_and_pages() {
    let shop = TestShop::start().await;
    for number in 1..=5 {
        let event = session(&format!("evt_{number}"), &format!("pi_{number}"), 2800, "plink_1");
        shop.deliver(Provider::Stripe, &event).await.expect("an order");
        shop.clock.advance(TimeDelta::minutes(1));
    }
    let first = admin::list(&shop.service, &OrderFilter { limit: 2, ..OrderFilter::default() }).await.expect("a list");
    let numbers: Vec<i64> = first.orders.iter().map(|order| order.number).collect();
    assert_eq!((numbers, first.next, first.counts[0]), (vec![5, 4], Some(4), (OrderState::Paid, 5)));
    let filter = OrderFilter { before: Some(2), limit: 2, ..OrderFilter::default() };
    let last = admin::list(&shop.service, &filter).await.expect("a list");
    assert_eq!((last.orders.len(), last.next), (1, None));
    let (orders, next) = admin::list_page(&shop.service, &filter).await.expect("a page");
    assert_eq!((orders, next), (last.orders, None), "the same without counts");
    for (search, expected) in [("ADA@", 5), ("newsletter", 5), ("pi_3", 1), ("3", 1), ("%", 0), ("bob", 0)] {
        let filter = OrderFilter { search: Some(search.to_owned()), ..OrderFilter::default() };
        assert_eq!(admin::list(&shop.service, &filter).await.expect("a list").orders.len(), expected, "{search}");
    }
    let filter = OrderFilter { state: Some("refunded"), ..OrderFilter::default() };
    assert!(admin::list(&shop.service, &filter).await.expect("a list").orders.is_empty());
}

#[tokio::test]
async fn new_link_is_mailed_with_another_message_id() {
    let shop = TestShop::start().await;
    shop.deliver(Provider::Stripe, &session("evt_1", "pi_1", 2800, "plink_1")).await.expect("an order");
    let list = admin::list(&shop.service, &OrderFilter::default()).await.expect("a list");
    let id = list.orders[0].id;
    admin::resend_download(&shop.service, id).await.expect("a link");
    let ids = shop.database.query("SELECT message_id FROM basalt.outbox ORDER BY number").await;
    let expected = [1, 2].map(|generation| format!("order_delivery.{}.{generation}@shop.example", id.simple()));
    assert_eq!(ids, expected);
    let details = admin::find(&shop.service, id).await.expect("a result").expect("an order");
    assert_eq!((details.mails.len(), details.order.download_generation, details.events.len()), (2, 2, 1));
    let unreachable = admin::refund(&shop.service, id).await.expect_err("nothing listens at the API");
    assert!(unreachable.to_string().contains("could not be reached"), "{unreachable}");
    let order = admin::find(&shop.service, id).await.expect("a result").expect("an order").order;
    assert_eq!(order.state, OrderState::Paid);
}
