//! Schedules of `cron.job`: five fields, an interval of seconds, or a name such as `@daily` (`pg_cron`, cron(5)).

use chrono::{DateTime, Datelike, Duration, Timelike, Utc};

/// When a job runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Schedule {
    /// At the minutes that the fields match.
    Fields(Box<Fields>),
    /// Every so many seconds, from 1 to 59.
    Seconds(u32),
}

/// The fields of a schedule as sets of bits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Fields {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Whether the field of days begins with `*`; then days and weekdays must both match.
    has_any_day: bool,
    has_any_weekday: bool,
    /// Whether the last day of the month matches (`$`).
    has_last_day: bool,
}

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
/// Schedules with a name.
const NAMED: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

impl Schedule {
    /// Reads a schedule; `None` if it is invalid.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let text = NAMED.iter().find(|(name, _)| *name == text).map_or(text.as_str(), |(_, fields)| fields);
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        match fields[..] {
            [count, "second" | "seconds"] => {
                count.parse().ok().filter(|count| (1..60).contains(count)).map(Self::Seconds)
            }
            [minutes, hours, days, months, weekdays] => {
                let weekdays_read = read_field(weekdays, 0, 7, &WEEKDAYS)?;
                // 7 is Sunday, too.
                let weekdays_read = (weekdays_read | (weekdays_read >> 7)) & 0x7f;
                Some(Self::Fields(Box::new(Fields {
                    minutes: read_field(minutes, 0, 59, &[])?,
                    hours: read_field(hours, 0, 23, &[])?,
                    days: if days == "$" { 0 } else { read_field(days, 1, 31, &[])? },
                    months: read_field(months, 1, 12, &MONTHS)?,
                    weekdays: weekdays_read,
                    has_any_day: days.starts_with('*'),
                    has_any_weekday: weekdays.starts_with('*'),
                    has_last_day: days == "$",
                })))
            }
            _ => None,
        }
    }

    /// Returns the latest times after `from`, until `to`, at which the job is due, at most `most`, in their order.
    pub(super) fn list_due(&self, from: DateTime<Utc>, to: DateTime<Utc>, most: usize) -> Vec<DateTime<Utc>> {
        let mut due = Vec::new();
        match self {
            Self::Seconds(count) => {
                let step = i64::from(*count);
                let mut at = to.timestamp() - to.timestamp().rem_euclid(step);
                while due.len() < most && at > from.timestamp() {
                    due.extend(DateTime::from_timestamp(at, 0));
                    at -= step;
                }
            }
            Self::Fields(fields) => {
                let mut minute = to.timestamp() - to.timestamp().rem_euclid(60);
                while due.len() < most && minute > from.timestamp() {
                    due.extend(DateTime::from_timestamp(minute, 0).filter(|at| fields.matches(*at)));
                    minute -= 60;
                }
            }
        }
        due.reverse();
        due
    }
}

impl Fields {
    fn matches(&self, at: DateTime<Utc>) -> bool {
        let has = |set: u64, value: u32| set & (1 << value) != 0;
        let is_last_day = (at + Duration::days(1)).month() != at.month();
        let day = has(self.days, at.day()) || (self.has_last_day && is_last_day);
        let weekday = has(self.weekdays, at.weekday().num_days_from_sunday());
        let is_day = if self.has_any_day || self.has_any_weekday { day && weekday } else { day || weekday };
        has(self.minutes, at.minute()) && has(self.hours, at.hour()) && has(self.months, at.month()) && is_day
    }
}

/// Reads `*`, numbers, names, ranges, steps and lists of them into a set of bits.
fn read_field(text: &str, lowest: u32, highest: u32, names: &[&str]) -> Option<u64> {
    let mut set = 0_u64;
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, step.parse::<u32>().ok().filter(|step| *step > 0)?),
            None => (part, 1),
        };
        let (first, last) = if range == "*" {
            (lowest, highest)
        } else if let Some((first, last)) = range.split_once('-') {
            (read_value(first, lowest, names)?, read_value(last, lowest, names)?)
        } else {
            let value = read_value(range, lowest, names)?;
            // A step without a range reaches to the end.
            (value, if part.contains('/') { highest } else { value })
        };
        if first < lowest || last > highest || first > last {
            return None;
        }
        let mut value = first;
        while value <= last {
            set |= 1 << value;
            value += step;
        }
    }
    Some(set)
}

fn read_value(text: &str, lowest: u32, names: &[&str]) -> Option<u32> {
    match names.iter().position(|name| *name == text) {
        Some(at) => u32::try_from(at).ok().map(|at| at + lowest),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().expect("a time")
    }

    fn due(schedule: &str, from: &str, to: &str) -> Vec<String> {
        let schedule = Schedule::parse(schedule).expect("a schedule");
        let times = schedule.list_due(at(from), at(to), 100);
        times.iter().map(|time| time.format("%m-%d %H:%M:%S").to_string()).collect()
    }

    #[test]
    fn schedules_are_due_at_their_times() {
        let day = ("2026-02-27T23:58:30Z", "2026-03-02T00:00:00Z");
        for (schedule, expected) in [
            ("0 0 * * *", &["02-28 00:00:00", "03-01 00:00:00", "03-02 00:00:00"][..]),
            ("30 3 $ * *", &["02-28 03:30:00"]),
            ("15 12 1 * mon", &["03-01 12:15:00"]),
            ("15 12 1 * *", &["03-01 12:15:00"]),
            ("0 6-18/6 * feb 6,7", &["02-28 06:00:00", "02-28 12:00:00", "02-28 18:00:00"]),
            ("59 23 * * 5", &["02-27 23:59:00"]),
            ("@weekly", &["03-01 00:00:00"]),
        ] {
            assert_eq!(due(schedule, day.0, day.1), expected, "{schedule}");
        }
        let seconds = due("20 seconds", "2026-01-01T00:00:00Z", "2026-01-01T00:00:45Z");
        assert_eq!(seconds, ["01-01 00:00:20", "01-01 00:00:40"]);
        assert_eq!(due("* * * * *", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z").len(), 100, "the latest ones");
    }

    #[test]
    fn invalid_schedules_are_refused() {
        for schedule in [
            "",
            "* * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * * 13 *",
            "* * * * 8",
            "5-1 * * * *",
            "*/0 * * * *",
            "60 seconds",
            "0 seconds",
            "x * * * *",
            "@never",
        ] {
            assert_eq!(Schedule::parse(schedule), None, "{schedule}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_schedules_do_not_panic(text in "[0-9*/,$ a-z@-]{0,24}", seconds in 0_i64..4_000_000_000) {
            if let Some(schedule) = Schedule::parse(&text) {
                let to = DateTime::from_timestamp(seconds, 0).expect("a time");
                prop_assert!(schedule.list_due(to - Duration::days(2), to, 5).len() <= 5);
            }
        }
    }
}
