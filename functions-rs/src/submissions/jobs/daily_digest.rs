//! The mail to the owner about the submissions of a day.

use chrono::NaiveDate;
use platform::mail::EmailMessage;

use super::store::DayFigures;
use crate::functions::send_submission::mails::{MailContext, build_owner_mail};

/// Builds the digest of a day; `None` if nothing came and nothing waits.
pub(super) fn build_daily_digest(
    context: MailContext<'_>,
    owner: &str,
    day: NaiveDate,
    figures: DayFigures,
) -> Option<EmailMessage> {
    let DayFigures { received, quarantined, unanswered } = figures;
    if (received, quarantined, unanswered) == (0, 0, 0) {
        return None;
    }
    let day = day.format("%-d %B %Y");
    let plural = |count: i64| format!("{count} submission{}", if count == 1 { "" } else { "s" });
    let came = format!("{} came to {} on {day} (UTC).", plural(received), context.shop);
    let spam = match quarantined {
        0 => "None was put aside as spam.".to_owned(),
        1 => "1 more was put aside as spam.".to_owned(),
        count => format!("{count} more were put aside as spam."),
    };
    let waiting = match unanswered {
        0 => "All are answered or closed.".to_owned(),
        count => format!("{} of all days {} still new.", plural(count), if count == 1 { "is" } else { "are" }),
    };
    let title = format!("{} on {day}", plural(received));
    let place = "They are at the owner’s desk of your site, /_desk, and in `basalt submissions list`.";
    Some(build_owner_mail(
        context,
        "submission_daily_digest",
        owner,
        &title,
        &[&format!("{came} {spam}"), &waiting, place],
    ))
}
