//! A known key of `config.toml`: the kind of its value and its effect.

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// true or false.
    Bool,
    /// A whole number, zero or more.
    Count,
    Text,
    /// A length of time in Go's notation: `90s`, `1h30m`.
    Duration,
    /// A list of texts.
    List,
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// Any value; it is not read.
    Any,
}

/// The effect of a value.
#[derive(Debug, Clone, Copy)]
pub(super) enum KeyUsage {
    /// Sets the setting of that name (without `GOTRUE_`), with the CLI's default if it has one.
    Setting(&'static str, Option<&'static str>),
    /// Sets the negated value: `enable_signup` becomes `DISABLE_SIGNUP`.
    Negated(&'static str, &'static str),
    /// Handled by separate code, or by Basalt itself.
    Custom,
    /// Known, without effect.
    Ignored,
}

/// A known key.
#[derive(Debug)]
pub(super) struct Key {
    /// Its full name.
    pub path: &'static str,
    /// The type of its value.
    pub kind: Kind,
    /// The effect of its value.
    pub usage: KeyUsage,
}

/// Returns a key that sets a setting.
pub(super) const fn setting(path: &'static str, kind: Kind, name: &'static str) -> Key {
    Key { path, kind, usage: KeyUsage::Setting(name, None) }
}

/// Returns a key that sets a setting, with the default of the CLI.
pub(super) const fn setting_or(path: &'static str, kind: Kind, name: &'static str, default: &'static str) -> Key {
    Key { path, kind, usage: KeyUsage::Setting(name, Some(default)) }
}

/// Returns a switch that sets the negated value.
pub(super) const fn negated(path: &'static str, name: &'static str, default: &'static str) -> Key {
    Key { path, kind: Kind::Bool, usage: KeyUsage::Negated(name, default) }
}

/// Returns a key that separate code handles.
pub(super) const fn custom(path: &'static str, kind: Kind) -> Key {
    Key { path, kind, usage: KeyUsage::Custom }
}

/// Returns a key without effect.
pub(super) const fn ignored(path: &'static str) -> Key {
    Key { path, kind: Kind::Any, usage: KeyUsage::Ignored }
}
