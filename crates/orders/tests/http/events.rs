//! What becomes of events, in any order and repeatedly.

use foundation::secret::Secret;
use futures::future::join_all;
use http::HeaderMap;
use orders::Provider::{LemonSqueezy, PayPal, Stripe};
use orders::admin::{self, OrderFilter};
use orders::webhook::{lemon_squeezy, paypal, stripe};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fixture::{TestShop, capture, refund, session};

#[tokio::test]
async fn payment_becomes_one_order_with_one_mail() {
    let shop = TestShop::start().await;
    let paid = session("evt_1", "pi_1", 2800, "plink_1");
    assert_eq!(shop.outcome(Stripe, &paid).await, "ordered");
    assert_eq!(shop.outcome(Stripe, &paid).await, "repeated");
    let again = session("evt_2", "pi_1", 2800, "plink_1");
    assert_eq!(shop.outcome(Stripe, &again).await, "known_payment", "another event of the same payment");
    assert_eq!(shop.orders().await, ["pi_1 paid"]);
    assert_eq!(shop.mails().await, ["order_delivery ada@example.com"]);
    let row = shop.database.query("SELECT locale || ' ' || is_test || ' ' || currency FROM basalt.orders").await;
    assert_eq!(row, ["de false USD"]);
}

#[tokio::test]
async fn concurrent_deliveries_make_one_order() {
    let shop = TestShop::start().await;
    for round in 0..10 {
        let events: Vec<_> = (0..4)
            .map(|number| session(&format!("evt_{round}_{}", number / 2), &format!("pi_{round}"), 2800, "plink_1"))
            .collect();
        let outcomes = join_all(events.iter().map(|event| shop.outcome(Stripe, event))).await;
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == "ordered").count(), 1, "{outcomes:?}");
    }
    assert_eq!((shop.orders().await.len(), shop.mails().await.len()), (10, 10));
}

#[tokio::test]
async fn refund_may_arrive_before_or_together_with_its_payment() {
    let shop = TestShop::start().await;
    assert_eq!(shop.outcome(Stripe, &refund("evt_1", "pi_1", 2800)).await, "refund_stored");
    assert_eq!(shop.outcome(Stripe, &session("evt_2", "pi_1", 2800, "plink_1")).await, "ordered_as_refunded");
    assert_eq!((shop.orders().await, shop.mails().await.len()), (vec!["pi_1 refunded".to_owned()], 0));
    for round in 2..12 {
        let (payment, id) = (format!("pi_{round}"), format!("evt_{round}"));
        let (paid, returned) =
            (session(&format!("{id}a"), &payment, 2800, "plink_1"), refund(&format!("{id}b"), &payment, 2800));
        join_all([shop.outcome(Stripe, &paid), shop.outcome(Stripe, &returned)]).await;
    }
    assert!(shop.orders().await.iter().all(|order| order.ends_with(" refunded")), "{:?}", shop.orders().await);
}

#[tokio::test]
async fn part_of_a_refund_ends_nothing() {
    let shop = TestShop::start().await;
    shop.outcome(Stripe, &session("evt_1", "pi_1", 2800, "plink_1")).await;
    assert_eq!(shop.outcome(Stripe, &refund("evt_2", "pi_1", 1000)).await, "refund_stored");
    assert_eq!(shop.orders().await, ["pi_1 paid"]);
    assert_eq!(shop.outcome(Stripe, &refund("evt_3", "pi_1", 2800)).await, "refunded");
    assert_eq!(shop.orders().await, ["pi_1 refunded"]);
}

#[tokio::test]
async fn part_of_a_refund_is_mailed_once_with_the_amount_and_the_rest() {
    let shop = TestShop::start().await;
    assert_eq!(shop.outcome(Stripe, &refund("evt_0", "pi_0", 1000)).await, "refund_stored");
    assert!(shop.mails().await.is_empty(), "the account may sell other things");
    shop.outcome(Stripe, &session("evt_1", "pi_1", 2800, "plink_1")).await;
    for (event, returned, outcome) in [
        ("evt_2", 1000, "refund_stored"),
        ("evt_2", 1000, "repeated"),
        ("evt_3", 1800, "refund_stored"),
        // It reports no more than the one before.
        ("evt_4", 1000, "refund_stored"),
    ] {
        assert_eq!(shop.outcome(Stripe, &refund(event, "pi_1", returned)).await, outcome, "{event}");
    }
    let mails = shop.mails().await;
    assert_eq!(
        mails,
        ["order_delivery ada@example.com", "order_refund ada@example.com", "order_refund ada@example.com"]
    );
    let texts =
        shop.database.query("SELECT text FROM basalt.outbox WHERE purpose = 'order_refund' ORDER BY number").await;
    for (text, parts) in texts.iter().zip([
        [
            "10,00\u{a0}$ von 28,00\u{a0}$",
            "18,00\u{a0}$ bleiben bezahlt",
            "Erstattet: 10,00\u{a0}$\nVerbleibt bezahlt: 18,00\u{a0}$\n",
        ],
        [
            "8,00\u{a0}$ von 28,00\u{a0}$",
            "10,00\u{a0}$ bleiben bezahlt",
            "Erstattet: 18,00\u{a0}$\nVerbleibt bezahlt: 10,00\u{a0}$\n",
        ],
    ]) {
        for part in parts {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(text.contains("der Download-Link gilt weiter") && text.contains("Bezahlt: 28,00\u{a0}$"), "{text}");
    }
    let subjects =
        shop.database.query("SELECT DISTINCT subject FROM basalt.outbox WHERE purpose = 'order_refund'").await;
    assert_eq!(subjects, ["Teilweise Erstattung: Professional Newsletter"]);
    assert_eq!(shop.outcome(Stripe, &refund("evt_5", "pi_1", 2800)).await, "refunded");
    let whole = last_mail(&shop).await;
    assert!(whole.contains("Erstattet: 28,00\u{a0}$\nVerbleibt bezahlt: 0,00\u{a0}$\n"), "{whole}");
    let list = admin::list(&shop.service, &OrderFilter::default()).await.expect("a list");
    let details = admin::find(&shop.service, list.orders[0].id).await.expect("a result").expect("an order").to_json();
    let messages = details["messages"].as_array().expect("mails");
    let kinds: Vec<&Value> = messages.iter().map(|mail| &mail["kind"]).collect();
    assert_eq!(kinds, ["delivery", "refund", "refund", "refund"], "the desk tells a receipt from a link");
}

/// Amounts of PayPal are decimal numbers, those of Stripe are in the smallest unit.
#[tokio::test]
async fn amounts_have_the_decimals_of_their_currency() {
    let shop = TestShop::start().await;
    let mut yen = capture(None);
    yen["resource"]["amount"] = json!({"value": "2800", "currency_code": "JPY"});
    assert_eq!(shop.outcome(PayPal, &yen).await, "wrong_amount");
    assert!(last_mail(&shop).await.contains("A payment of ¥2,800 is in another currency than"));
    let mut dinars = session("evt_1", "pi_1", 1_234_500, "plink_1");
    dinars["data"]["object"]["currency"] = json!("kwd");
    assert_eq!(shop.outcome(Stripe, &dinars).await, "wrong_amount");
    assert!(last_mail(&shop).await.contains("A payment of KWD\u{a0}1,234.500 is in another currency than"));
}

#[tokio::test]
async fn owner_is_notified_of_what_cannot_be_delivered_and_can_correct_it() {
    let shop = TestShop::start().await;
    let wrong = session("evt_1", "pi_1", 2700, "plink_1");
    let unknown = session("evt_2", "pi_2", 2800, "plink_2");
    let mut without_buyer = session("evt_3", "pi_3", 2800, "plink_1");
    without_buyer["data"]["object"]["customer_details"] = json!(null);
    for (event, expected) in [(&wrong, "wrong_amount"), (&unknown, "unknown_template"), (&without_buyer, "no_buyer")] {
        assert_eq!(shop.outcome(Stripe, event).await, expected);
        assert_eq!(shop.outcome(Stripe, event).await, "repeated", "the owner is notified once");
    }
    assert_eq!(shop.mails().await, ["order_notice owner@example.com"; 3]);
    let texts = shop.database.query("SELECT text FROM basalt.outbox ORDER BY number").await;
    for text in texts {
        assert!(text.contains("Open the screen Orders of the desk") && text.contains("press Deliver"), "{text}");
    }
    assert!(shop.orders().await.is_empty());
    shop.products.lock().expect("a list")[0].references.push("plink_2".to_owned());
    assert_eq!(shop.outcome(Stripe, &unknown).await, "ordered", "the provider sends it again");
    assert_eq!(shop.orders().await, ["pi_2 paid"]);
}

#[tokio::test]
async fn stored_outcome_is_what_was_done() {
    let shop = TestShop::start().await;
    shop.outcome(Stripe, &session("evt_1", "pi_1", 2800, "plink_1")).await;
    shop.outcome(Stripe, &session("evt_2", "pi_1", 2800, "plink_1")).await;
    shop.outcome(Stripe, &refund("evt_3", "pi_1", 1000)).await;
    shop.outcome(Stripe, &refund("evt_4", "pi_1", 2800)).await;
    shop.outcome(Stripe, &refund("evt_5", "pi_1", 2800)).await;
    shop.outcome(Stripe, &refund("evt_6", "pi_2", 2800)).await;
    shop.outcome(Stripe, &session("evt_7", "pi_2", 2800, "plink_1")).await;
    shop.outcome(Stripe, &session("evt_8", "pi_3", 2700, "plink_1")).await;
    let stored = "SELECT kind || ' ' || outcome FROM basalt.payment_events ORDER BY event_id";
    let expected = [
        "payment ordered",
        "payment known_payment",
        "refund refund_stored",
        "refund refunded",
        "refund refund_stored",
        "refund refund_stored",
        "payment ordered_as_refunded",
        "payment wrong_amount",
    ];
    assert_eq!(shop.database.query(stored).await, expected);
}

#[tokio::test]
async fn address_that_no_mail_reaches_is_reported_to_the_owner() {
    let shop = TestShop::start().await;
    for (number, address) in ["j\u{fc}rgen@example.com", "ada@-example.com", "ada@exa_mple.com"].iter().enumerate() {
        let mut event = session(&format!("evt_{number}"), &format!("pi_{number}"), 2800, "plink_1");
        event["data"]["object"]["customer_details"]["email"] = json!(address);
        assert_eq!(shop.outcome(Stripe, &event).await, "no_buyer", "{address}");
    }
    assert_eq!(shop.mails().await, ["order_notice owner@example.com"; 3]);
}

#[tokio::test]
async fn other_events_are_stored_and_change_nothing() {
    let shop = TestShop::start().await;
    let mut unpaid = session("evt_1", "pi_1", 2800, "plink_1");
    unpaid["data"]["object"]["payment_status"] = json!("unpaid");
    assert_eq!(shop.outcome(Stripe, &unpaid).await, "ignored");
    let approved = json!({"id": "WH-1", "event_type": "CHECKOUT.ORDER.APPROVED", "resource": {"id": "ORDER1"}});
    assert_eq!(shop.outcome(PayPal, &approved).await, "ignored", "the money comes with the capture");
    let mut later = session("evt_2", "pi_1", 2800, "plink_1");
    later["type"] = json!("checkout.session.async_payment_succeeded");
    assert_eq!(shop.outcome(Stripe, &later).await, "ordered");
    assert_eq!(shop.database.query("SELECT count(*)::text FROM basalt.payment_events").await, ["3"]);
}

#[tokio::test]
async fn capture_waits_for_the_api_that_names_its_buyer() {
    let shop = TestShop::start().await;
    assert_eq!(shop.outcome(PayPal, &capture(Some("ORDER1"))).await, "provider_unavailable", "PayPal sends it again");
    assert!(shop.database.query("SELECT event_id FROM basalt.payment_events").await.is_empty());
    assert_eq!(shop.outcome(PayPal, &capture(None)).await, "no_buyer");
}

#[tokio::test]
async fn reversal_of_paypal_ends_the_order_of_its_capture() {
    let shop = TestShop::start().await;
    let capture = json!({
        "id": "WH-1",
        "event_type": "PAYMENT.CAPTURE.COMPLETED",
        "resource": {
            "id": "CAP1",
            "amount": {"value": "28.00", "currency_code": "USD"},
            "invoice_id": "plink_1",
            "payer": {"email_address": "ada@example.com"},
        },
    });
    assert_eq!(shop.outcome(PayPal, &capture).await, "ordered");
    let reversed = json!({
        "id": "WH-2",
        "event_type": "PAYMENT.CAPTURE.REVERSED",
        "resource": {
            "id": "REF1",
            "amount": {"value": "-28.00", "currency_code": "USD"},
            "links": [{"rel": "self", "href": "https://x.example/a"}, {"rel": "up", "href": "https://x.example/captures/CAP1"}],
        },
    });
    assert_eq!(shop.outcome(PayPal, &reversed).await, "refunded");
    assert_eq!(shop.orders().await, ["CAP1 refunded"]);
    assert_eq!(
        shop.mails().await,
        ["order_delivery ada@example.com", "order_notice owner@example.com"],
        "no refund is promised"
    );
    let text = shop.database.query("SELECT text FROM basalt.outbox ORDER BY number").await.pop().expect("a mail");
    assert!(text.contains("PayPal took the payment of order") && text.contains("CAP1"), "{text}");
    assert_eq!(shop.outcome(PayPal, &reversed).await, "repeated");
    assert_eq!(shop.mails().await.len(), 2);
}

/// An event of a dispute at Stripe.
fn dispute(event: &str, kind: &str, amount: i64, status: &str) -> Value {
    json!({
        "id": event,
        "type": format!("charge.dispute.{kind}"),
        "data": {"object": {
            "id": "dp_1", "charge": "ch_1", "payment_intent": "pi_1", "amount": amount, "currency": "usd",
            "reason": "product_not_received", "status": status, "evidence_details": {"due_by": 1_796_947_199},
        }},
    })
}

/// The text of the last mail.
async fn last_mail(shop: &TestShop) -> String {
    shop.database.query("SELECT text FROM basalt.outbox ORDER BY number DESC LIMIT 1").await.pop().expect("a mail")
}

/// Whether the only order is disputed.
async fn is_disputed(shop: &TestShop) -> bool {
    let filter = OrderFilter { limit: 10, ..OrderFilter::default() };
    let (listed, _) = orders::admin::list_page(&shop.service, &filter).await.expect("orders");
    listed[0].is_disputed
}

#[tokio::test]
async fn dispute_is_reported_and_a_lost_one_ends_the_order() {
    let shop = TestShop::start().await;
    assert_eq!(shop.outcome(Stripe, &session("evt_1", "pi_1", 2800, "plink_1")).await, "ordered");
    let opened = dispute("evt_2", "created", 2800, "needs_response");
    assert_eq!(shop.outcome(Stripe, &opened).await, "dispute_stored");
    assert_eq!(shop.outcome(Stripe, &opened).await, "repeated");
    assert_eq!(shop.orders().await, ["pi_1 paid"], "its links work while it is disputed");
    assert!(is_disputed(&shop).await);
    assert_eq!(shop.mails().await, ["order_delivery ada@example.com", "order_notice owner@example.com"]);
    let text = last_mail(&shop).await;
    for words in ["disputes $28.00 at Stripe (reason: product_not_received)", "Answer there until 10 December 2026"] {
        assert!(text.contains(words), "{text}");
    }
    assert_eq!(shop.outcome(Stripe, &dispute("evt_3", "closed", 2800, "lost")).await, "refunded");
    assert_eq!(shop.orders().await, ["pi_1 refunded"]);
    assert!(!is_disputed(&shop).await);
    assert!(last_mail(&shop).await.contains("Stripe took the payment of order"));
    assert_eq!(shop.mails().await.len(), 3, "the buyer gets no mail");
}

#[tokio::test]
async fn dispute_that_is_won_leaves_the_order() {
    let shop = TestShop::start().await;
    assert_eq!(shop.outcome(Stripe, &session("evt_1", "pi_1", 2800, "plink_1")).await, "ordered");
    // Events can arrive in another order.
    assert_eq!(shop.outcome(Stripe, &dispute("evt_3", "closed", 2800, "won")).await, "dispute_stored");
    assert!(last_mail(&shop).await.contains("the money stays with you"));
    assert_eq!(shop.outcome(Stripe, &dispute("evt_2", "created", 2800, "needs_response")).await, "dispute_stored");
    assert!(!is_disputed(&shop).await);
    assert_eq!(shop.orders().await, ["pi_1 paid"]);
}

#[tokio::test]
async fn disputes_of_paypal_mail_the_owner_until_they_are_decided() {
    let shop = TestShop::start().await;
    let mut paid = capture(None);
    paid["resource"]["payer"] = json!({"email_address": "ada@example.com"});
    assert_eq!(shop.outcome(PayPal, &paid).await, "ordered");
    let dispute = |id: &str, kind: &str, outcome: &str| {
        json!({
            "id": id,
            "event_type": format!("CUSTOMER.DISPUTE.{kind}"),
            "resource": {
                "dispute_id": "PP-D-1",
                "reason": "UNAUTHORISED",
                "disputed_transactions": [{"seller_transaction_id": "CAP1"}],
                "dispute_amount": {"currency_code": "USD", "value": "28.00"},
                "seller_response_due_date": "2026-12-10T23:59:00.000Z",
                "dispute_outcome": {"outcome_code": outcome},
            },
        })
    };
    assert_eq!(shop.outcome(PayPal, &dispute("WH-2", "CREATED", "NONE")).await, "dispute_stored");
    assert!(is_disputed(&shop).await);
    let text = last_mail(&shop).await;
    for words in ["disputes $28.00 at PayPal (reason: UNAUTHORISED)", "Answer there until 10 December 2026"] {
        assert!(text.contains(words), "{text}");
    }
    let lost = dispute("WH-3", "RESOLVED", "RESOLVED_BUYER_FAVOUR");
    assert_eq!(shop.outcome(PayPal, &lost).await, "ignored", "the reversal follows");
    let won = dispute("WH-4", "RESOLVED", "RESOLVED_SELLER_FAVOUR");
    assert_eq!(shop.outcome(PayPal, &won).await, "dispute_stored");
    assert!(!is_disputed(&shop).await && last_mail(&shop).await.contains("the money stays with you"));
    assert_eq!(shop.orders().await, ["CAP1 paid"]);
}

#[tokio::test]
async fn part_that_is_taken_back_mails_the_owner() {
    let shop = TestShop::start().await;
    assert_eq!(shop.outcome(Stripe, &session("evt_1", "pi_1", 2800, "plink_1")).await, "ordered");
    assert_eq!(shop.outcome(Stripe, &dispute("evt_2", "created", 1000, "needs_response")).await, "dispute_stored");
    let lost = dispute("evt_3", "closed", 1000, "lost");
    assert_eq!(shop.outcome(Stripe, &lost).await, "refund_stored");
    assert_eq!(shop.outcome(Stripe, &lost).await, "repeated");
    assert!(!is_disputed(&shop).await);
    let text = last_mail(&shop).await;
    assert!(text.contains("Stripe took $10.00 of the payment of order") && text.contains("which was $28.00"), "{text}");
    assert_eq!(shop.mails().await.len(), 3, "delivery, dispute, part");
}

#[tokio::test]
async fn disputes_of_other_payments_mail_nobody() {
    let shop = TestShop::start().await;
    assert_eq!(shop.outcome(Stripe, &dispute("evt_1", "created", 2800, "needs_response")).await, "dispute_stored");
    assert!(shop.mails().await.is_empty());
    let broken = json!({"id": "evt_2", "type": "charge.dispute.created", "data": {"object": {"amount": 1}}});
    assert!(shop.deliver(Stripe, &broken).await.is_err());
}

#[tokio::test]
async fn coupon_for_something_else_buys_no_template_that_the_buyer_names() {
    let shop = TestShop::start().await;
    let mut free = session("evt_1", "pi_1", 0, "plink_of_something_else");
    let object = &mut free["data"]["object"];
    object["payment_status"] = json!("no_payment_required");
    object["client_reference_id"] = json!("template-1");
    object["amount_subtotal"] = json!(9900);
    object["total_details"] = json!({ "amount_discount": 9900, "amount_tax": 0 });
    assert_eq!(shop.outcome(Stripe, &free).await, "wrong_amount");
    let order = json!({
        "meta": {"event_name": "order_created", "custom_data": {"template": "template-1"}},
        "data": {"id": "1", "attributes": {
            "status": "paid", "user_email": "ada@example.com", "currency": "USD", "tax": 0, "total": 0, "subtotal": 9900,
            "discount_total": 9900, "first_order_item": {"variant_id": 5},
        }},
    });
    assert_eq!(shop.outcome(LemonSqueezy, &order).await, "wrong_amount");
    assert!(shop.orders().await.is_empty());
    let mut whole = session("evt_2", "pi_2", 2800, "plink_of_something_else");
    whole["data"]["object"]["client_reference_id"] = json!("template-1");
    assert_eq!(shop.outcome(Stripe, &whole).await, "ordered", "the price was paid");
}

#[tokio::test]
async fn taxes_and_variants_of_lemon_squeezy_are_understood() {
    let shop = TestShop::start().await;
    shop.products.lock().expect("a list")[0].references = vec!["4711".to_owned()];
    let order = json!({
        "meta": {"event_name": "order_created"},
        "data": {"id": "1", "attributes": {
            "status": "paid", "user_email": "ada@example.com", "currency": "USD", "tax": 532, "total": 3332,
            "first_order_item": {"variant_id": 4711},
        }},
    });
    assert_eq!(shop.outcome(LemonSqueezy, &order).await, "ordered");
    let part = json!({
        "meta": {"event_name": "order_refunded"},
        "data": {"id": "1", "attributes": {"status": "partial_refund", "total": 3332, "refunded_amount": 100}},
    });
    assert_eq!(shop.outcome(LemonSqueezy, &part).await, "refund_stored");
    assert_eq!(shop.orders().await, ["1 paid"]);
}

#[test]
fn signature_of_stripe_is_that_of_its_documentation() {
    let (secret, body) = (Secret::new("whsec_test"), b"{\"id\":\"evt_1\"}");
    let now = "2026-11-21T12:00:00Z".parse().expect("a time");
    let headers = |text: String| {
        HeaderMap::from_iter([(http::HeaderName::from_static(stripe::SIGNATURE), text.parse().expect("a header"))])
    };
    let signed = stripe::sign(body, &secret, now);
    let (time, signature) = signed.split_once(",v1=").expect("two parts");
    let verify = |text: String| stripe::verify(&headers(text), body, &secret, now).map_err(|error| error.name());
    assert_eq!(verify(signed.clone()), Ok(()));
    assert_eq!(verify(format!("{time},v1={},v1={signature},v0=x", "0".repeat(64))), Ok(()), "one of several");
    assert_eq!(verify(format!("{time},v1={}", "0".repeat(64))), Err("forged"));
    assert_eq!(verify(format!("{time},v0={signature}")), Err("missing_signature"));
    assert_eq!(verify(format!("t=1,v1={signature}")), Err("forged"), "the time is signed");
    for (minutes, expected) in [(4, Ok(())), (6, Err("stale")), (-4, Ok(())), (-6, Err("stale"))] {
        let at = now - chrono::TimeDelta::minutes(minutes);
        assert_eq!(verify(stripe::sign(body, &secret, at)), expected, "{minutes}");
    }
}

proptest! {
    #[test]
    fn arbitrary_bodies_do_not_panic(body: Vec<u8>) {
        let _ = (stripe::parse(&body), paypal::parse(&body, false), lemon_squeezy::parse(&body));
    }

    #[test]
    fn events_with_members_of_other_types_do_not_panic(
        kind in "(checkout.session.completed|charge.(refunded|dispute.(created|closed))|CUSTOMER.DISPUTE.(CREATED|RESOLVED)|PAYMENT.CAPTURE.(COMPLETED|REFUNDED)|order_(created|refunded))",
        member in "(null|1|\"a\"|\\[\\]|\\{\\}|\"28.00\")",
        other in "(null|-9223372036854775808|9223372036854775807|\"x\"|\\[1\\]|true)",
    ) {
        let body = format!(
            "{{\"id\": \"e1\", \"type\": \"{kind}\", \"event_type\": \"{kind}\", \"meta\": {{\"event_name\": \"{kind}\"}}, \
             \"resource\": {{\"id\": {member}, \"amount\": {{\"value\": {member}, \"currency_code\": \"USD\"}}, \"links\": {other}}}, \
             \"data\": {{\"id\": \"1\", \"attributes\": {{\"status\": \"paid\", \"total\": {other}, \"currency\": {member}}}, \
             \"object\": {{\"id\": \"c\", \"payment_status\": \"paid\", \"amount_total\": {other}, \"amount_refunded\": {other}, \
             \"currency\": \"usd\", \"metadata\": {member}}}}}}}"
        );
        let body = body.as_bytes();
        let _ = (stripe::parse(body), paypal::parse(body, false), lemon_squeezy::parse(body));
    }

    #[test]
    fn signatures_of_other_bodies_are_refused(body: Vec<u8>, other: Vec<u8>, secret in "[a-z]{1,20}") {
        prop_assume!(body != other);
        let secret = Secret::new(secret);
        let signed = lemon_squeezy::sign(&body, &secret);
        let headers = HeaderMap::from_iter([(http::HeaderName::from_static(lemon_squeezy::SIGNATURE), signed.parse().expect("a header"))]);
        prop_assert!(lemon_squeezy::verify(&headers, &body, &secret).is_ok());
        prop_assert!(lemon_squeezy::verify(&headers, &other, &secret).is_err());
    }
}

#[tokio::test]
async fn coupon_is_delivered_with_a_receipt_that_says_so() {
    let shop = TestShop::start().await;
    let mut free = session("evt_1", "pi_1", 0, "plink_1");
    let object = &mut free["data"]["object"];
    object["payment_status"] = json!("no_payment_required");
    object["payment_intent"] = json!(null);
    object["amount_subtotal"] = json!(2800);
    object["total_details"] = json!({ "amount_discount": 2800, "amount_tax": 0 });
    assert_eq!(shop.outcome(Stripe, &free).await, "ordered");
    let mut taxed = session("evt_2", "pi_2", 1666, "plink_1");
    taxed["data"]["object"]["amount_subtotal"] = json!(2800);
    taxed["data"]["object"]["total_details"] = json!({ "amount_discount": 1400, "amount_tax": 266 });
    assert_eq!(shop.outcome(Stripe, &taxed).await, "ordered");
    let texts = shop.database.query("SELECT text FROM basalt.outbox ORDER BY number").await;
    let numbers = shop.database.query("SELECT number::text FROM basalt.orders ORDER BY number").await;
    for (text, expected) in texts.iter().zip([
        ["Rabatt: 28,00\u{a0}$", "Bezahlt: 0,00\u{a0}$", "Bestellung: #"],
        ["Rabatt: 14,00\u{a0}$", "Enthaltene Steuer: 2,66\u{a0}$", "Bezahlt: 16,66\u{a0}$"],
    ]) {
        for part in expected {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    assert!(texts[1].contains(&format!("Bestellung: #{}", numbers[1])), "{}", texts[1]);
    let mut cheap = session("evt_3", "pi_3", 100, "plink_1");
    cheap["data"]["object"]["amount_subtotal"] = json!(100);
    assert_eq!(shop.outcome(Stripe, &cheap).await, "wrong_amount", "a lower list price is not the owner's");
}

#[tokio::test]
async fn receipt_of_several_copies_says_how_many() {
    let shop = TestShop::start().await;
    let mut expanded = session("evt_1", "pi_1", 8400, "plink_1");
    expanded["data"]["object"]["amount_subtotal"] = json!(8400);
    expanded["data"]["object"]["line_items"] = json!({ "data": [{ "quantity": 3 }] });
    assert_eq!(shop.outcome(Stripe, &expanded).await, "ordered");
    let order = json!({
        "meta": {"event_name": "order_created"},
        "data": {"id": "1", "attributes": {
            "status": "paid", "user_email": "ada@example.com", "currency": "USD", "tax": 0, "total": 5600,
            "subtotal": 5600, "first_order_item": {"variant_id": "plink_1", "quantity": 2},
        }},
    });
    assert_eq!(shop.outcome(LemonSqueezy, &order).await, "ordered");
    // Neither the event nor the API, which does not answer here, says how many copies these are.
    let mut several = session("evt_3", "pi_3", 8500, "plink_1");
    several["data"]["object"]["amount_subtotal"] = json!(8500);
    assert_eq!(shop.outcome(Stripe, &several).await, "ordered");
    let texts = shop.database.query("SELECT text FROM basalt.outbox ORDER BY number").await;
    assert!(
        texts[0].contains("Anzahl: 3 × 28,00\u{a0}$") && texts[0].contains("Bezahlt: 84,00\u{a0}$"),
        "{}",
        texts[0]
    );
    assert!(texts[1].contains("Quantity: 2 × $28.00") && texts[1].contains("Total paid: $56.00"), "{}", texts[1]);
    assert!(!texts[2].contains("Anzahl"), "{}", texts[2]);
}
