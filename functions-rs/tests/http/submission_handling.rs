//! What the owner does with submissions.

use std::sync::Arc;

use chrono::TimeDelta;
use functions_rs::submissions::error::SubmissionError;
use functions_rs::submissions::export::ExportFormat;
use functions_rs::submissions::filter::{SubmissionFilter, SubmissionPage, SubmissionStatus};
use functions_rs::submissions::input::ReplyInput;
use functions_rs::submissions::{Submissions, changes, store};
use futures::TryStreamExt;
use futures::future::join_all;
use platform::mail::outbox::MailDestination;
use platform::testing::{DatabaseInspector, check_statements, drop_when};
use serde_json::Value;
use sqlx::ConnectOptions;
use uuid::Uuid;

use crate::shop::{Submission, TestShop};

fn page(parameters: &[(&str, &str)]) -> SubmissionPage {
    SubmissionPage::parse(parameters.iter().copied()).expect("valid parameters")
}

async fn excerpts(submissions: &Submissions, parameters: &[(&str, &str)]) -> Vec<String> {
    let list = submissions.list(&page(parameters)).await.expect("a list");
    list.submissions.iter().map(|submission| submission.description.clone()).collect()
}

fn reply(to: &str, text: &str) -> ReplyInput {
    ReplyInput::new(to, "Your newsletter", text).expect("a reply")
}

fn id(text: &str) -> Uuid {
    text.parse().expect("an id")
}

#[tokio::test]
async fn pages_contain_each_submission_once() {
    let shop = TestShop::start().await;
    let submissions = shop.submissions(10);
    for number in 0..5 {
        let text = format!("text {number}");
        shop.send_submission(Submission { peer: "192.0.2.1", ..Submission::with_text(&text) }).await;
    }
    shop.clock.advance(TimeDelta::minutes(5));
    shop.submit("the newest").await;
    let mut seen = Vec::new();
    let mut wanted = page(&[("limit", "2")]);
    loop {
        let list = submissions.list(&wanted).await.expect("a list");
        assert!(list.submissions.len() <= 2);
        seen.extend(list.submissions.into_iter().map(|submission| submission.description));
        let Some(next) = list.next else { break };
        wanted.before = Some(next);
    }
    assert_eq!(seen[0], "the newest");
    seen.sort();
    assert_eq!(seen, ["text 0", "text 1", "text 2", "text 3", "text 4", "the newest"]);
}

#[tokio::test]
async fn submissions_are_found_by_words_and_filters() {
    let shop = TestShop::start().await;
    let submissions = shop.submissions(10);
    let blue = shop.submit("A Blue newsletter, ada.l@mail.example.com").await;
    let headers = [("apikey", "sb_publishable_test"), ("authorization", "Bearer token-of-ada")];
    shop.send_submission(Submission { headers: &headers, ..Submission::with_text("Größe & Farbe") }).await;
    shop.clock.advance(TimeDelta::days(2));
    let body = serde_json::json!({ "description": "Nothing special", "template": 9 }).to_string();
    shop.post("192.0.2.2", &[], body).await;
    submissions.set_status(id(&blue), SubmissionStatus::Closed).await.expect("a submission");
    for (parameters, found) in [
        (&[("search", "blue")][..], 1),
        (&[("search", "BLU news")], 1),
        (&[("search", "ada.l@mail")], 1),
        (&[("search", "example.com")], 2),
        (&[("search", "größ")], 1),
        (&[("search", "lue")], 0),
        (&[("search", "' | x")], 0),
        (&[("search", "&")], 3),
        (&[("status", "closed")], 1),
        (&[("status", "closed"), ("search", "ada")], 1),
        (&[("status", "new"), ("search", "blue")], 0),
        (&[("status", "new")], 2),
        (&[("template", "9")], 1),
        (&[("template", "9"), ("status", "closed")], 0),
        (&[("to", "2026-11-21")], 2),
        (&[("from", "2026-11-22")], 1),
        (&[("from", "2026-11-24")], 0),
    ] {
        assert_eq!(excerpts(&submissions, parameters).await.len(), found, "{parameters:?}");
    }
    let body = submissions.list_json(&page(&[("template", "9")])).await.expect("a list");
    assert_eq!(body["counts"], serde_json::json!({ "new": 2, "answered": 0, "closed": 1, "spam": 0 }));
    let listed = &body["submissions"][0];
    assert_eq!(listed["template"], serde_json::json!({ "id": 9, "title": "Executive Report" }));
    assert_eq!((&listed["status"], &listed["created_at"]), (&"new".into(), &"2026-11-23T12:00:00Z".into()));
    assert_eq!(body["next"], Value::Null);
}

#[tokio::test]
async fn details_name_senders_mails_and_notes() {
    let shop = TestShop::start().await;
    let submissions = shop.submissions(10);
    let submission = id(&shop.submit("Write to bob@example.com").await);
    submissions.add_note(submission, "Called back", "owner@shop.example").await.expect("a note");
    let details = submissions.find(submission).await.expect("a submission");
    let body = details.to_json(submissions.titles());
    assert_eq!(body["senders"], serde_json::json!(["bob@example.com"]));
    assert_eq!(body["delivery"], "delivered");
    let mails: Vec<_> = details
        .messages
        .iter()
        .map(|message| (message.kind.as_str(), message.recipient.as_str(), message.state.as_str()))
        .collect();
    assert_eq!(mails, [("confirmation", "bob@example.com", "held"), ("notice", "owner@shop.example", "held")]);
    let note = &body["notes"][0];
    assert_eq!((&note["text"], &note["author"]), (&"Called back".into(), &"owner@shop.example".into()));
    submissions.delete_note(submission, details.notes[0].id).await.expect("a note");
    assert!(matches!(
        submissions.delete_note(submission, details.notes[0].id).await,
        Err(SubmissionError::NotFound(_))
    ));
    let unknown = submissions.add_note(Uuid::nil(), "text", "owner").await;
    assert!(matches!(unknown, Err(SubmissionError::NotFound("submission"))), "{unknown:?}");
}

#[tokio::test]
async fn submission_of_an_earlier_version_has_senders() {
    let shop = TestShop::start().await;
    let submissions = shop.submissions(10);
    let submission = id(&shop.submit("Write to bob@example.com").await);
    shop.database.query("UPDATE basalt.submissions SET senders = NULL RETURNING id").await;
    assert_eq!(submissions.find(submission).await.expect("it").submission.list_senders(), ["bob@example.com"]);
    submissions.reply(submission, &reply("bob@example.com", "Yes"), "owner").await.expect("a reply");
}

#[tokio::test]
async fn reply_continues_the_confirmation_and_marks_as_answered() {
    let shop = TestShop::start().await;
    let submissions = shop.submissions(10);
    let submission = id(&shop.submit("Blue, please: bob@example.com").await);
    let sent = submissions.reply(submission, &reply("BOB@example.com", "Dear Bob,\n\nyes."), "owner").await;
    let sent = sent.expect("a reply");
    assert_eq!(
        (sent.kind.as_str(), sent.recipient.as_str(), sent.state.as_str()),
        ("reply", "bob@example.com", "held")
    );
    let mails = shop.mails("bob@example.com").await;
    let (mail, confirmation) = (&mails[0], &mails[1]);
    assert_eq!((mail.subject.as_str(), mail.kind.as_str()), ("Your newsletter", "submission_reply"));
    let text = mail.text.as_deref().unwrap_or_default();
    assert!(
        text.starts_with("Dear Bob,\n\nyes.\n\nOn 21 November 2026")
            && text.ends_with("> Blue, please: bob@example.com\n"),
        "{text}"
    );
    let thread = format!("<{}>", confirmation.message_id);
    for (name, value) in [("In-Reply-To", thread.as_str()), ("References", &thread), ("Reply-To", "owner@shop.example")]
    {
        assert!(mail.headers.contains(&(name.to_owned(), value.to_owned())), "{name}: {:?}", mail.headers);
    }
    shop.database.query("DELETE FROM basalt.outbox RETURNING id").await;
    let details = submissions.find(submission).await.expect("a submission");
    assert_eq!((details.submission.status, details.submission.replies), (SubmissionStatus::Answered, 1));
    let kept = details.messages.iter().find(|message| message.kind == "reply").expect("the reply");
    assert_eq!((kept.text.as_deref(), kept.state.as_str()), (Some("Dear Bob,\n\nyes."), "sent"));
}

#[tokio::test]
async fn reply_goes_to_addresses_of_the_submission_alone() {
    let shop = TestShop::start().await;
    let submissions = shop.submissions(10);
    let submission = id(&shop.submit("ada@example.com or bob@example.com").await);
    for to in [
        "eve@example.com",
        "ada@example.com, eve@example.com",
        "ada@example.com\r\nBcc: eve@example.com",
        "Ada <ada@example.com>",
    ] {
        let refused = submissions.reply(submission, &reply(to, "Hello"), "owner").await;
        let is_right = matches!(&refused, Err(SubmissionError::Invalid(input)) if input.code == "recipient_not_named");
        assert!(is_right, "{to}: {refused:?}");
    }
    assert_eq!(shop.counts().await, (1, 1));
    submissions.reply(submission, &reply("bob@example.com", "Hello"), "owner").await.expect("a reply");
    let unknown = submissions.reply(Uuid::nil(), &reply("bob@example.com", "Hello"), "owner").await;
    assert!(matches!(unknown, Err(SubmissionError::NotFound("submission"))));
}

#[tokio::test]
async fn failed_mail_is_sent_again_and_others_are_not() {
    let shop = TestShop::start().await;
    let submissions = shop.submissions_with(10, MailDestination::Server);
    let submission = id(&shop.submit("bob@example.com").await);
    let sent = submissions.reply(submission, &reply("bob@example.com", "Hello"), "owner").await.expect("a reply");
    assert_eq!(sent.state, "waiting");
    let waiting = submissions.resend(submission, sent.id).await;
    assert!(matches!(waiting, Err(SubmissionError::Conflict { code: "message_waiting", .. })), "{waiting:?}");
    let fail = format!(
        "UPDATE basalt.outbox SET failed_at = created_at, last_error = 'no such user' WHERE id = '{}' RETURNING id",
        sent.id
    );
    shop.database.query(&fail).await;
    let details = submissions.find(submission).await.expect("a submission");
    assert_eq!(details.submission.delivery(), "failed");
    assert!(details.messages.iter().any(|message| message.error.as_deref() == Some("no such user")));
    shop.clock.advance(TimeDelta::days(30));
    assert_eq!(submissions.resend(submission, sent.id).await.expect("it is sent again").state, "waiting");
    let is_due = "SELECT (give_up_at > '2026-12-21' AND next_attempt_at = '2026-12-21T12:00:00Z')::text FROM basalt.outbox WHERE purpose = 'submission_reply'";
    assert_eq!(shop.database.query(is_due).await, ["true"]);
    let notice = details.messages.iter().find(|message| message.kind == "notice").expect("a notice").id;
    let delivered = submissions.resend(submission, notice).await;
    assert!(matches!(delivered, Err(SubmissionError::Conflict { code: "message_not_failed", .. })), "{delivered:?}");
    let other = submissions.resend(Uuid::nil(), notice).await;
    assert!(matches!(other, Err(SubmissionError::NotFound(_))), "{other:?}");
}

#[tokio::test]
async fn equal_replies_of_two_servers_are_one_mail() {
    let shop = TestShop::start().await;
    let (here, there) = (shop.submissions(10), shop.submissions(20));
    for round in 0..10 {
        let submission = id(&shop.submit(&format!("round {round} bob@example.com")).await);
        let equal = reply("bob@example.com", "Hello");
        let (first, second) = tokio::join!(here.reply(submission, &equal, "a"), there.reply(submission, &equal, "b"));
        assert_eq!(first.expect("a reply").id, second.expect("a reply").id);
        let (third, fourth) = (reply("bob@example.com", "One"), reply("bob@example.com", "Two"));
        let (third, fourth) = tokio::join!(here.reply(submission, &third, "a"), there.reply(submission, &fourth, "b"));
        assert_ne!(third.expect("a reply").id, fourth.expect("a reply").id);
        assert_eq!(here.find(submission).await.expect("it").submission.replies, 3);
        shop.clock.advance(TimeDelta::minutes(30));
    }
}

#[tokio::test]
async fn deletion_during_a_reply_leaves_nothing_behind() {
    let shop = TestShop::start().await;
    let (here, there) = (shop.submissions(10), shop.submissions(20));
    for round in 0..20 {
        let submission = id(&shop.submit(&format!("round {round} bob@example.com")).await);
        here.add_note(submission, "a note", "owner").await.expect("a note");
        let hello = reply("bob@example.com", "Hello");
        let (sent, deleted) =
            tokio::join!(here.reply(submission, &hello, "owner"), there.delete(std::slice::from_ref(&submission)));
        assert_eq!(deleted.expect("the database answers"), 1);
        assert!(matches!(&sent, Ok(_) | Err(SubmissionError::NotFound(_))), "{sent:?}");
        assert!(matches!(here.find(submission).await, Err(SubmissionError::NotFound(_))));
        shop.clock.advance(TimeDelta::minutes(30));
    }
    let left = "SELECT (SELECT count(*) FROM basalt.submission_messages) + (SELECT count(*) FROM basalt.submission_notes) || ''";
    assert_eq!(shop.database.query(left).await, ["0"]);
}

#[tokio::test]
async fn dropped_reply_is_stored_completely_or_not_at_all() {
    let shop = TestShop::with_one_connection().await;
    let ledger = DatabaseInspector::connect(&shop.database).await;
    let submissions = shop.submissions(10);
    let stored = "SELECT concat_ws('|', s.status, (SELECT count(*) FROM basalt.submission_messages m WHERE m.kind = 'reply' \
                  AND m.submission = s.id), (SELECT count(*) FROM basalt.outbox o JOIN basalt.submission_messages m USING (id) \
                  WHERE m.kind = 'reply' AND m.submission = s.id)) FROM basalt.submissions s ORDER BY created_at DESC LIMIT 1";
    let (mut dropped, mut completed) = (0, 0);
    for round in 0..120 {
        let step = round % 12 + 1;
        let submission = id(&shop.submit(&format!("round {round} bob@example.com")).await);
        let hello = reply("bob@example.com", "Hello");
        let mut polls = 0;
        let is_now = || {
            polls += 1;
            polls == step
        };
        let seen = drop_when(is_now, submissions.reply(submission, &hello, "owner")).await;
        ledger.wait_until_idle(&shop.pool).await.expect("at rest");
        let state = shop.database.query(stored).await.remove(0);
        assert!(state == "answered|1|1" || (state == "new|0|0" && seen.is_none()), "{round}: {state}");
        submissions.reply(submission, &hello, "owner").await.expect("a reply");
        assert_eq!(shop.database.query(stored).await, ["answered|1|1"], "{round}: sent again");
        // How often a reply is pending depends on how fast the database answers.
        completed += usize::from(seen.is_some());
        dropped += usize::from(seen.is_none());
        if completed >= 5 && dropped > 0 {
            break;
        }
        shop.clock.advance(TimeDelta::minutes(30));
    }
    assert!(completed >= 5 && dropped > 0, "it was dropped {dropped} times and completed {completed} times");
}

#[tokio::test]
async fn concurrent_changes_of_status_leave_one_of_them() {
    let shop = TestShop::start().await;
    let (here, there) = (shop.submissions(10), shop.submissions(20));
    let submission = id(&shop.submit("bob@example.com").await);
    for _ in 0..10 {
        let hello = reply("bob@example.com", "Hello");
        let (closed, spam, answered) = tokio::join!(
            here.set_status(submission, SubmissionStatus::Closed),
            there.set_status(submission, SubmissionStatus::Spam),
            there.reply(submission, &hello, "owner"),
        );
        closed.and(spam).and(answered.map(drop)).expect("all succeed");
        let status = here.find(submission).await.expect("it").submission.status;
        assert_ne!(status, SubmissionStatus::New);
    }
    assert_eq!(here.find(submission).await.expect("it").submission.replies, 1);
}

#[tokio::test]
async fn notes_are_limited() {
    let shop = TestShop::start().await;
    let submissions = shop.submissions(10);
    let submission = id(&shop.submit("Hello").await);
    let fill = format!(
        "INSERT INTO basalt.submission_notes SELECT gen_random_uuid(), '{submission}', 'x', 'owner', now() FROM generate_series(1, 195) RETURNING id"
    );
    shop.database.query(&fill).await;
    let outcomes = join_all((0..10).map(|_| submissions.add_note(submission, "one more", "owner"))).await;
    assert!(outcomes.iter().filter(|outcome| outcome.is_ok()).count() >= 5);
    let is_full = |error: &SubmissionError| matches!(error, SubmissionError::Conflict { code: "too_many_notes", .. });
    assert!(outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).all(is_full));
    assert!(is_full(&submissions.add_note(submission, "x", "owner").await.expect_err("full")));
}

#[tokio::test]
async fn export_contains_every_selected_submission() {
    let shop = TestShop::start().await;
    let submissions = Arc::new(shop.submissions(10));
    shop.database
        .query("INSERT INTO basalt.submissions (id, description, created_at, peer, status) SELECT gen_random_uuid(), '=cmd, ' || g, '2026-11-21'::timestamptz + g % 7 * interval '1 s', '192.0.2.9', CASE WHEN g % 2 = 0 THEN 'spam' ELSE 'new' END FROM generate_series(1, 450) g RETURNING id")
        .await;
    let all = SubmissionFilter::default();
    let parts: Vec<_> =
        Arc::clone(&submissions).export(all.clone(), ExportFormat::Json).try_collect().await.expect("an export");
    assert_eq!(parts.len(), 3);
    let exported: Vec<Value> = serde_json::from_slice(&parts.concat()).expect("JSON");
    assert_eq!(exported.len(), 450);
    let spam = SubmissionFilter { status: Some(SubmissionStatus::Spam), ..all.clone() };
    let parts: Vec<_> =
        Arc::clone(&submissions).export(spam, ExportFormat::Csv).try_collect().await.expect("an export");
    let text = String::from_utf8(parts.concat()).expect("text");
    assert_eq!(text.lines().count(), 226);
    assert!(text.starts_with("id,created_at,status,") && text.contains(",\"'=cmd, 2\"\r\n"), "{}", &text[..400]);
    let none = SubmissionFilter { template: Some(3), ..all };
    for (format, expected) in [(ExportFormat::Json, "[\n]\n"), (ExportFormat::Csv, "id,created_at")] {
        let parts: Vec<_> =
            Arc::clone(&submissions).export(none.clone(), format).try_collect().await.expect("an export");
        assert!(parts.concat().starts_with(expected.as_bytes()));
    }
}

#[tokio::test]
async fn statements_of_handling_match_schema() {
    let shop = TestShop::start().await;
    let mut connection = shop.pool.connect_options().connect().await.expect("the test server answers");
    let statements = store::list_statements().into_iter().chain(changes::list_statements());
    assert_eq!(check_statements(&mut connection, statements).await, [""; 0]);
}
