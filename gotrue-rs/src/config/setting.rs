//! A row of the settings table: names, value type, target and documentation of a variable.

use std::collections::BTreeMap;

use foundation::limits::Quota;
use foundation::secret::Secret;
use gotrue_rules::domain::policy::{HookKind, MailKind, PROVIDERS};
use gotrue_rules::wire::go_duration::GoDuration;

use super::draft::{Draft, hook_key};
use super::problem::Problem;
use super::secret_files::SecretFileError;
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
    /// The values of the `*`.
    pub family: Family,
    /// The type of the value, and its target.
    pub value_type: ValueType,
    /// The unit of a number; empty for none.
    pub unit: &'static str,
    /// The documented value of an unset variable; empty if that is empty or off.
    pub default: &'static str,
    /// What the setting does.
    pub doc: &'static str,
    /// A valid value other than the default.
    pub example: &'static str,
    /// Whether the value is never shown.
    pub hidden: bool,
    /// Whether the start fails without it.
    pub required: bool,
    /// Whether programs in general read the variable, so that its value never prevents the start.
    pub shared: bool,
}

/// The values of the `*` in a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// The name has no `*`.
    Single,
    /// A built-in provider.
    Providers,
    Hooks,
    /// A kind of mail.
    Mails,
    /// A kind of notification.
    Notifications,
    /// A kind of mailed link.
    Links,
}

impl Family {
    /// Returns the members in lower case.
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

    /// Returns the placeholder for the `*` in the documentation.
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

/// Stores a value of type `T` in the draft, for a member of the family (empty without a family).
pub type Setter<T> = fn(&mut Draft, &'static str, T);

/// The type of a variable's value, and its target.
#[derive(Clone, Copy)]
pub enum ValueType {
    /// Any text.
    Text(Setter<String>),
    /// Any text, never shown.
    Secret(Setter<Secret>),
    /// True or false.
    Bool(Setter<bool>),
    /// A whole number between a minimum and a maximum.
    Int(i64, i64, Setter<i64>),
    /// A non-negative whole number.
    Natural(Setter<u64>),
    /// Any number.
    Number(Setter<f64>),
    /// A duration.
    Span(Setter<GoDuration>),
    /// A duration above zero.
    PositiveSpan(Setter<GoDuration>),
    /// Comma-separated parts.
    List(Setter<Vec<String>>),
    /// Comma-separated `name:value` pairs.
    Map(Setter<BTreeMap<String, String>>),
    /// A sending quota.
    Quota(Setter<Quota>),
    /// A format with its description and parser.
    ///
    /// The error is the complaint without the value: `is not a key`.
    Custom(&'static str, fn(&mut Draft, &'static str, &str) -> Result<(), String>),
    /// A variable that is accepted without effect, for the given reason.
    Unused(UnusedForm, &'static str),
}

/// The type of a value without effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnusedForm {
    /// Any text.
    Text,
    /// True or false.
    Bool,
    /// A whole number.
    Int,
    /// A duration.
    Span,
    /// Comma-separated `name:value` pairs.
    Map,
}

impl Setting {
    /// Creates a row without default, documentation and alias; the methods below add them.
    pub const fn new(name: &'static str, put: ValueType) -> Self {
        let hidden = matches!(put, ValueType::Secret(_));
        Self {
            name,
            alias: None,
            family: Family::Single,
            value_type: put,
            unit: "",
            default: "",
            doc: "",
            example: "",
            hidden,
            required: false,
            shared: false,
        }
    }

    /// Adds a second name.
    pub const fn with_alias(mut self, alias: &'static str) -> Self {
        self.alias = Some(alias);
        self
    }

    /// Adds a row for each member of the family.
    pub const fn for_family(mut self, family: Family) -> Self {
        self.family = family;
        self
    }

    /// Sets the unit of a number.
    pub const fn with_unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    /// Sets the documented default.
    pub const fn default(mut self, default: &'static str) -> Self {
        self.default = default;
        self
    }

    /// Sets the documentation and a valid example.
    pub const fn doc(mut self, doc: &'static str, example: &'static str) -> Self {
        self.doc = doc;
        self.example = example;
        self
    }

    /// Never shows the value.
    pub const fn hidden(mut self) -> Self {
        self.hidden = true;
        self
    }

    /// Makes the variable required.
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Treats an empty value as unset, and an invalid one as a warning.
    pub const fn shared(mut self) -> Self {
        self.shared = true;
        self
    }

    /// Returns the names for one member, in the order of look-up.
    pub fn names(&self, member: &str) -> Vec<String> {
        let word = member.to_uppercase();
        [Some(self.name), self.alias].into_iter().flatten().map(|name| name.replace('*', &word)).collect()
    }

    /// Reads the variable of one member, if it is set, into the draft.
    pub fn read(&self, vars: &Vars, member: &'static str, draft: &mut Draft) {
        let names = self.names(member);
        let found = match self.find_text(vars, &names) {
            Ok(found) => found,
            Err(SecretFileError { name, complaint }) => {
                let example = if names.contains(&name) { self.example } else { "/run/secrets/name" }.to_owned();
                return draft.problems.push(Problem { name, complaint, example });
            }
        };
        let Some((name, text)) = found else {
            if self.required {
                let name = names.last().cloned().unwrap_or_default();
                let complaint = format!("is not set. {}", self.doc.trim_end_matches('.'));
                draft.problems.push(Problem { name, complaint, example: self.example.to_owned() });
            }
            return;
        };
        if let Err(wants) = self.parse_into(&text, member, draft) {
            let complaint = format!("{} {wants}", self.redact(&text));
            if self.shared {
                return draft.warn(name, format!("{complaint}; the default applies"));
            }
            draft.problem(name, complaint, self.example);
        } else if let ValueType::Unused(_, why) = self.value_type {
            draft.unused(name, why);
        }
    }

    /// Finds the first name that has a value, and the value. A hidden value may also be in a file.
    fn find_text<'a>(&self, vars: &Vars, names: &'a [String]) -> Result<Option<(&'a String, String)>, SecretFileError> {
        for name in names {
            let text = if self.hidden { vars.find_secret(name)? } else { vars.get(name).map(str::to_owned) };
            if let Some(text) = text.filter(|text| !(self.shared && text.is_empty())) {
                return Ok(Some((name, text)));
            }
        }
        Ok(None)
    }

    /// Returns the value as an error may show it.
    pub fn redact(&self, text: &str) -> String {
        match (self.hidden, text.chars().count()) {
            (_, 0) => "an empty text".to_owned(),
            (true, count) => format!("the value ({count} characters, not shown)"),
            (false, 0..=80) => format!("{text:?}"),
            (false, _) => format!("{:?}…", text.chars().take(60).collect::<String>()),
        }
    }

    /// Parses a text into the draft.
    ///
    /// # Errors
    /// The complaint without the value.
    pub fn parse_into(&self, text: &str, member: &'static str, draft: &mut Draft) -> Result<(), String> {
        let wrong = || self.type_complaint();
        match self.value_type {
            ValueType::Text(to) => to(draft, member, text.to_owned()),
            ValueType::Secret(to) => to(draft, member, Secret::new(text)),
            ValueType::Bool(to) => to(draft, member, values::parse_boolean(text).ok_or_else(wrong)?),
            ValueType::Int(least, greatest, to) => {
                let value = values::parse_integer(text).filter(|value| (least..=greatest).contains(value));
                to(draft, member, value.ok_or_else(wrong)?);
            }
            ValueType::Natural(to) => to(draft, member, values::parse_natural(text).ok_or_else(wrong)?),
            ValueType::Number(to) => to(draft, member, values::parse_number(text).ok_or_else(wrong)?),
            ValueType::Span(to) => to(draft, member, GoDuration::parse(text).ok_or_else(wrong)?),
            ValueType::PositiveSpan(to) => {
                let value = GoDuration::parse(text).filter(|value| value.is_positive());
                to(draft, member, value.ok_or_else(wrong)?);
            }
            ValueType::List(to) => to(draft, member, values::parse_list(text)),
            ValueType::Map(to) => to(draft, member, values::parse_map(text).ok_or_else(wrong)?),
            ValueType::Quota(to) => to(draft, member, values::parse_quota(text).ok_or_else(wrong)?),
            ValueType::Custom(_, take) => return take(draft, member, text),
            ValueType::Unused(form, _) => form.accepts(text).then_some(()).ok_or_else(wrong)?,
        }
        Ok(())
    }

    /// Returns the complaint about an invalid text.
    fn type_complaint(&self) -> String {
        let of = if self.unit.is_empty() { String::new() } else { format!(" of {}", self.unit) };
        match self.value_type {
            ValueType::Bool(_) | ValueType::Unused(UnusedForm::Bool, _) => "is neither true nor false".to_owned(),
            ValueType::Int(i64::MIN, i64::MAX, _) | ValueType::Unused(UnusedForm::Int, _) => {
                format!("is not a whole number{of}")
            }
            ValueType::Int(least, i64::MAX, _) => format!("is not a whole number{of} from {least} up"),
            ValueType::Int(least, greatest, _) => format!("is not a whole number{of} from {least} to {greatest}"),
            ValueType::Natural(_) => format!("is not a whole number{of} from 0 up"),
            ValueType::Number(_) => format!("is not a number{of}"),
            ValueType::Span(_) | ValueType::Unused(UnusedForm::Span, _) => {
                "is not a duration such as 1h30m, 90s or 500ms".to_owned()
            }
            ValueType::PositiveSpan(_) => "is not a duration above zero such as 1h30m, 90s or 500ms".to_owned(),
            ValueType::Map(_) | ValueType::Unused(UnusedForm::Map, _) => {
                "is not a list of name:value pairs between commas".to_owned()
            }
            ValueType::Quota(_) => "is neither a number (so many an hour) nor number/duration".to_owned(),
            ValueType::Custom(form, _) => format!("is not {form}"),
            ValueType::Text(_) | ValueType::Secret(_) | ValueType::List(_) | ValueType::Unused(UnusedForm::Text, _) => {
                "is not a text".to_owned()
            }
        }
    }
}

impl UnusedForm {
    fn accepts(self, text: &str) -> bool {
        match self {
            Self::Text => true,
            Self::Bool => values::parse_boolean(text).is_some(),
            Self::Int => values::parse_integer(text).is_some(),
            Self::Span => GoDuration::parse(text).is_some(),
            Self::Map => values::parse_map(text).is_some(),
        }
    }
}
