//! One row of the settings table: what a variable is called, what its text must be, where its value goes, and what the
//! documentation says of it.

use std::collections::BTreeMap;

use gotrue_rules::domain::policy::{HookKind, MailKind, PROVIDERS, Quota};
use gotrue_rules::domain::secret::Secret;
use gotrue_rules::wire::go_duration::GoDuration;

use super::draft::Draft;
use super::hook_key;
use super::problem::Problem;
use super::values;
use super::vars::Vars;

/// A row of the settings table. A `*` in a name stands for each member of its family.
#[derive(Clone, Copy)]
#[must_use]
pub struct Setting {
    /// The name that is looked up first.
    pub name: &'static str,
    /// A shorter name that is looked up next.
    pub alias: Option<&'static str>,
    /// What the `*` stands for.
    pub family: Family,
    /// What the text must be, and where it goes.
    pub put: Put,
    /// What a number counts; empty: nothing in particular.
    pub unit: &'static str,
    /// The text that stands for the value of an unset variable; empty: empty, or off.
    pub default: &'static str,
    /// What the setting does.
    pub doc: &'static str,
    /// A text that would do, other than the default.
    pub example: &'static str,
    /// The text is never shown.
    pub hidden: bool,
    /// The start fails without it.
    pub required: bool,
}

/// What the `*` in a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// There is none.
    Single,
    /// A built-in provider.
    Providers,
    /// A hook.
    Hooks,
    /// A kind of mail.
    Mails,
    /// A kind of notification.
    Notifications,
    /// A kind of mailed link.
    Links,
}

impl Family {
    /// The members, in lower case.
    pub fn members(self) -> Vec<&'static str> {
        let notifications = MailKind::ALL.into_iter().filter(|kind| kind.is_notification());
        match self {
            Self::Single => vec![""],
            Self::Providers => PROVIDERS.to_vec(),
            Self::Hooks => HookKind::ALL.into_iter().map(hook_key).collect(),
            Self::Mails => MailKind::ALL.into_iter().map(MailKind::as_str).collect(),
            Self::Notifications => notifications.map(|kind| kind.as_str().trim_end_matches("_notification")).collect(),
            Self::Links => vec!["invite", "confirmation", "recovery", "email_change"],
        }
    }

    /// What stands in the documentation instead of the `*`.
    pub fn placeholder(self) -> &'static str {
        match self {
            Self::Single => "",
            Self::Providers => "<PROVIDER>",
            Self::Hooks => "<HOOK>",
            Self::Mails => "<MAIL>",
            Self::Notifications => "<NOTIFICATION>",
            Self::Links => "<LINK>",
        }
    }
}

/// Where a value of type `T` goes: into the draft, for that member of the family (empty without a family).
pub type To<T> = fn(&mut Draft, &'static str, T);

/// What the text of a variable must be, and where it goes.
#[derive(Clone, Copy)]
pub enum Put {
    /// Any text.
    Text(To<String>),
    /// Any text, never shown.
    Secret(To<Secret>),
    /// True or false.
    Bool(To<bool>),
    /// A whole number from a least to a greatest one.
    Int(i64, i64, To<i64>),
    /// A whole number without a sign.
    Natural(To<u64>),
    /// Any number.
    Number(To<f64>),
    /// A duration.
    Span(To<GoDuration>),
    /// A duration above zero.
    PositiveSpan(To<GoDuration>),
    /// Parts between commas.
    List(To<Vec<String>>),
    /// `name:value` pairs between commas.
    Map(To<BTreeMap<String, String>>),
    /// A sending quota.
    Quota(To<Quota>),
    /// A form of its own, and what to call it. The error is the complaint without the value: `is not a key`.
    Own(&'static str, fn(&mut Draft, &'static str, &str) -> Result<(), String>),
    /// Of this form, without any effect here, for this reason.
    Unused(Form, &'static str),
}

/// The form of a text that has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Any text.
    Text,
    /// True or false.
    Bool,
    /// A whole number.
    Int,
    /// A duration.
    Span,
    /// `name:value` pairs between commas.
    Map,
}

impl Setting {
    /// A row without default, words and alias; the methods below add them.
    pub const fn new(name: &'static str, put: Put) -> Self {
        let hidden = matches!(put, Put::Secret(_));
        Self {
            name,
            alias: None,
            family: Family::Single,
            put,
            unit: "",
            default: "",
            doc: "",
            example: "",
            hidden,
            required: false,
        }
    }

    /// A second name.
    pub const fn or(mut self, alias: &'static str) -> Self {
        self.alias = Some(alias);
        self
    }

    /// One row per member.
    pub const fn each(mut self, family: Family) -> Self {
        self.family = family;
        self
    }

    /// What a number counts.
    pub const fn of(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    /// The default.
    pub const fn default(mut self, default: &'static str) -> Self {
        self.default = default;
        self
    }

    /// What it does, and a text that would do.
    pub const fn doc(mut self, doc: &'static str, example: &'static str) -> Self {
        self.doc = doc;
        self.example = example;
        self
    }

    /// Never shown.
    pub const fn hidden(mut self) -> Self {
        self.hidden = true;
        self
    }

    /// Must be set.
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// The names of one member, in the order of look-up.
    pub fn names(&self, member: &str) -> Vec<String> {
        let word = member.to_uppercase();
        [Some(self.name), self.alias].into_iter().flatten().map(|name| name.replace('*', &word)).collect()
    }

    /// Reads the variable of one member, if it is set, into the draft.
    pub fn read(&self, vars: &Vars, member: &'static str, draft: &mut Draft) {
        let names = self.names(member);
        let Some((name, text)) = names.iter().find_map(|name| Some((name, vars.get(name)?))) else {
            if self.required {
                let name = names.last().cloned().unwrap_or_default();
                let complaint = format!("is not set. {}", self.doc.trim_end_matches('.'));
                draft.problems.push(Problem { name, complaint, example: self.example.to_owned() });
            }
            return;
        };
        if let Err(wants) = self.take(text, member, draft) {
            draft.problems.push(Problem {
                name: name.clone(),
                complaint: format!("{} {wants}", self.show(text)),
                example: self.example.to_owned(),
            });
        } else if let Put::Unused(_, why) = self.put {
            draft.unused(name, why);
        }
    }

    /// The value as an error may show it.
    pub fn show(&self, text: &str) -> String {
        match (self.hidden, text.chars().count()) {
            (_, 0) => "an empty text".to_owned(),
            (true, count) => format!("the value ({count} characters, not shown)"),
            (false, 0..=80) => format!("{text:?}"),
            (false, _) => format!("{:?}…", text.chars().take(60).collect::<String>()),
        }
    }

    /// Reads a text into the draft. The error is the complaint without the value.
    pub fn take(&self, text: &str, member: &'static str, draft: &mut Draft) -> Result<(), String> {
        let wrong = || self.wants();
        match self.put {
            Put::Text(to) => to(draft, member, text.to_owned()),
            Put::Secret(to) => to(draft, member, Secret::new(text)),
            Put::Bool(to) => to(draft, member, values::boolean(text).ok_or_else(wrong)?),
            Put::Int(least, greatest, to) => {
                let value = values::integer(text).filter(|value| (least..=greatest).contains(value));
                to(draft, member, value.ok_or_else(wrong)?);
            }
            Put::Natural(to) => to(draft, member, values::natural(text).ok_or_else(wrong)?),
            Put::Number(to) => to(draft, member, values::number(text).ok_or_else(wrong)?),
            Put::Span(to) => to(draft, member, GoDuration::parse(text).ok_or_else(wrong)?),
            Put::PositiveSpan(to) => {
                let value = GoDuration::parse(text).filter(|value| value.is_positive());
                to(draft, member, value.ok_or_else(wrong)?);
            }
            Put::List(to) => to(draft, member, values::list(text)),
            Put::Map(to) => to(draft, member, values::map(text).ok_or_else(wrong)?),
            Put::Quota(to) => to(draft, member, values::quota(text).ok_or_else(wrong)?),
            Put::Own(_, take) => return take(draft, member, text),
            Put::Unused(form, _) => form.accepts(text).then_some(()).ok_or_else(wrong)?,
        }
        Ok(())
    }

    /// What is said of a text that will not do.
    fn wants(&self) -> String {
        let of = if self.unit.is_empty() { String::new() } else { format!(" of {}", self.unit) };
        match self.put {
            Put::Bool(_) | Put::Unused(Form::Bool, _) => "is neither true nor false".to_owned(),
            Put::Int(i64::MIN, i64::MAX, _) | Put::Unused(Form::Int, _) => format!("is not a whole number{of}"),
            Put::Int(least, i64::MAX, _) => format!("is not a whole number{of} from {least} up"),
            Put::Int(least, greatest, _) => format!("is not a whole number{of} from {least} to {greatest}"),
            Put::Natural(_) => format!("is not a whole number{of} from 0 up"),
            Put::Number(_) => format!("is not a number{of}"),
            Put::Span(_) | Put::Unused(Form::Span, _) => "is not a duration such as 1h30m, 90s or 500ms".to_owned(),
            Put::PositiveSpan(_) => "is not a duration above zero such as 1h30m, 90s or 500ms".to_owned(),
            Put::Map(_) | Put::Unused(Form::Map, _) => "is not a list of name:value pairs between commas".to_owned(),
            Put::Quota(_) => "is neither a number (so many an hour) nor number/duration".to_owned(),
            Put::Own(form, _) => format!("is not {form}"),
            Put::Text(_) | Put::Secret(_) | Put::List(_) | Put::Unused(Form::Text, _) => "is not a text".to_owned(),
        }
    }
}

impl Form {
    fn accepts(self, text: &str) -> bool {
        match self {
            Self::Text => true,
            Self::Bool => values::boolean(text).is_some(),
            Self::Int => values::integer(text).is_some(),
            Self::Span => GoDuration::parse(text).is_some(),
            Self::Map => values::map(text).is_some(),
        }
    }
}
