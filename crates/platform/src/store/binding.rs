//! Named statements, and the values that are bound to one.
//!
//! SQL names its parameters, `:name`. [`bind!`](crate::bind) compares these names with those of the values at compile
//! time, so that no value can be bound to another parameter or statement.

use std::borrow::Cow;
use std::fmt;

use sqlx::error::BoxDynError;
use sqlx::{Encode, Postgres, Type};

use super::parts::select_parts;
use super::placeholders::{NumberedSql, Placeholder, is_same};
use super::values::EncodedValues;
use crate::journal::FactKind;

/// A named SQL statement; [`statements!`](crate::statements) declares it.
#[derive(Debug, Clone, Copy)]
pub struct Statement {
    name: &'static str,
    sql: &'static str,
    parameters: &'static [&'static str],
    placeholders: &'static [Placeholder],
    is_repeatable: bool,
    proves: &'static [FactKind],
}

/// A value, as the function that appends it to the values of a statement.
pub type Encoder<'a> = &'a dyn Fn(&mut EncodedValues) -> Result<(), BoxDynError>;

impl Statement {
    /// Creates a statement of a translated text, which only [`statement!`](crate::statement) makes.
    #[doc(hidden)]
    pub const fn from_numbered<const LENGTH: usize, const NAMES_LENGTH: usize, const PLACEHOLDERS: usize>(
        name: &'static str,
        sql: &'static NumberedSql<LENGTH, NAMES_LENGTH, PLACEHOLDERS>,
        parameters: &'static [&'static str],
    ) -> Self {
        let placeholders = sql.placeholders();
        Self { name, sql: sql.text(), parameters, placeholders, is_repeatable: false, proves: &[] }
    }

    /// The statement with the attribute `#[repeatable]`.
    #[doc(hidden)]
    #[must_use]
    pub const fn repeatable(self) -> Self {
        Self { is_repeatable: true, ..self }
    }

    /// The statement with the attribute `#[proves(…)]`.
    #[doc(hidden)]
    #[must_use]
    pub const fn proving(self, proves: &'static [FactKind]) -> Self {
        Self { proves, ..self }
    }

    /// `<table>.<verb>`, as shown in journal and metrics.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The SQL with `$1` … for values; unqualified names resolve by the connection's search path.
    pub const fn sql(&self) -> &'static str {
        self.sql
    }

    /// The SQL without its optional parts; see [`super::parts`].
    pub fn sql_without_parts(&self) -> String {
        select_parts(self.sql, self.placeholders, &[]).0
    }

    /// Whether it has the attribute `#[repeatable]`.
    pub const fn is_repeatable(&self) -> bool {
        self.is_repeatable
    }

    /// The facts of its attribute `#[proves(…)]`.
    pub const fn proves(&self) -> &'static [FactKind] {
        self.proves
    }

    /// The names of the parameters in the order of their numbers.
    pub const fn parameters(&self) -> &'static [&'static str] {
        self.parameters
    }

    /// For each parameter, the index of its value among values of these names.
    ///
    /// # Panics
    /// A name is missing, or is not that of a parameter.
    pub const fn order_of<const COUNT: usize>(&self, names: &[&str]) -> [usize; COUNT] {
        let mut index = 0;
        while index < names.len() {
            if position(self.parameters, names[index]).is_none() {
                let message = Message::new(self.name, " has no parameter :", names[index]);
                panic!("{}", message.as_str());
            }
            index += 1;
        }
        let (mut order, mut number) = ([0; COUNT], 0);
        while number < self.parameters.len() {
            let Some(index) = position(names, self.parameters[number]) else {
                let message = Message::new(self.name, " lacks a value for its parameter :", self.parameters[number]);
                panic!("{}", message.as_str());
            };
            order[number] = index;
            number += 1;
        }
        order
    }
}

const fn position(names: &[&str], name: &str) -> Option<usize> {
    let mut index = 0;
    while index < names.len() {
        if is_same(names[index], name) {
            return Some(index);
        }
        index += 1;
    }
    None
}

/// A compile-time error message: the name of the statement, what is wrong, the name of the parameter.
struct Message {
    text: [u8; 200],
    length: usize,
}

impl Message {
    const fn new(statement: &str, problem: &str, parameter: &str) -> Self {
        let message = Self { text: [0; 200], length: 0 };
        message.with("the statement ").with(statement).with(problem).with(parameter)
    }

    const fn with(mut self, part: &str) -> Self {
        let (part, mut at) = (part.as_bytes(), 0);
        while at < part.len() && self.length < self.text.len() {
            self.text[self.length] = part[at];
            self.length += 1;
            at += 1;
        }
        self
    }

    const fn as_str(&self) -> &str {
        match core::str::from_utf8(self.text.split_at(self.length).0) {
            Ok(text) => text,
            Err(_) => "a statement and its values differ",
        }
    }
}

/// A statement with the values of all its parameters, built by [`bind!`](crate::bind).
pub struct BoundStatement {
    pub(super) name: &'static str,
    pub(super) sql: Cow<'static, str>,
    pub(super) placeholders: Cow<'static, [Placeholder]>,
    pub(super) is_repeatable: bool,
    pub(super) proves: &'static [FactKind],
    /// The values, or why one cannot be encoded.
    pub(super) values: Result<EncodedValues, BoxDynError>,
}

impl BoundStatement {
    /// The values.
    ///
    /// # Errors
    /// One cannot be encoded.
    pub(super) fn values(&self) -> Result<&EncodedValues, BoxDynError> {
        self.values.as_ref().map_err(|cause| cause.to_string().into())
    }

    /// Keeps the optional parts that change something and leaves out the others; see [`super::parts`].
    ///
    /// Names of parts that the statement does not have are ignored: statements share the computation of their parts.
    #[must_use]
    pub fn with_changed(self, parts: &[(&str, bool)]) -> Self {
        let changed: Vec<&str> = parts.iter().filter(|(_, is_changed)| *is_changed).map(|(part, _)| *part).collect();
        let (sql, placeholders) = select_parts(&self.sql, &self.placeholders, &changed);
        Self { sql: sql.into(), placeholders: placeholders.into(), ..self }
    }

    /// Encodes the values in the order of the parameters.
    #[doc(hidden)]
    pub fn encode<const COUNT: usize>(
        statement: &Statement,
        order: [usize; COUNT],
        encoders: [Encoder<'_>; COUNT],
    ) -> Self {
        let mut values = EncodedValues::with_capacity(COUNT);
        let encoded = order.into_iter().try_for_each(|index| encoders[index](&mut values));
        let Statement { name, sql, placeholders, is_repeatable, proves, .. } = *statement;
        let values = encoded.map(|()| values);
        Self { name, sql: sql.into(), placeholders: placeholders.into(), is_repeatable, proves, values }
    }
}

impl fmt::Debug for BoundStatement {
    /// Formats the name only: values may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundStatement").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Appends a value.
#[doc(hidden)]
pub fn append<'q, T: Encode<'q, Postgres> + Type<Postgres>>(
    values: &mut EncodedValues,
    value: T,
) -> Result<(), BoxDynError> {
    values.add(value)
}

/// The statements of a module and of the modules below it.
#[derive(Debug, Clone, Copy)]
pub struct StatementGroup {
    statements: &'static [&'static Statement],
    modules: &'static [&'static StatementGroup],
}

impl StatementGroup {
    /// Creates a group; [`statements!`](crate::statements) does it.
    #[doc(hidden)]
    pub const fn new(statements: &'static [&'static Statement], modules: &'static [&'static StatementGroup]) -> Self {
        Self { statements, modules }
    }

    /// Returns all statements of the group.
    pub fn list(&self) -> Vec<&'static Statement> {
        let below = self.modules.iter().flat_map(|module| module.list());
        self.statements.iter().copied().chain(below).collect()
    }
}

/// Declares the statements of a module, and lists them with those of its modules in `STATEMENTS`.
///
/// `modules: a, b;` names the modules below that have statements, too. The compiler reports `STATEMENTS` of a module that
/// is not listed as unused.
///
/// Attributes follow the comment of a statement:
///
/// - `#[repeatable]`: outside of a transaction it is executed again after its connection was lost. It writes nothing and
///   calls no function with an effect; `platform::testing::check_statements` fails otherwise. Row locks end with the
///   connection.
/// - `#[proves(Audit, …)]`: once it has succeeded and its transaction is committed, facts of these
///   [kinds](crate::journal::FactKind) that were noted with [`FactCondition::Statement`] are true.
///
/// [`FactCondition::Statement`]: crate::journal::FactCondition::Statement
///
/// ```
/// mod users {
///     platform::statements! {
///         /// The user's row.
///         #[repeatable]
///         FIND = "users.find": "SELECT email FROM users WHERE id = :id AND created_at < :before::timestamptz";
///         DELETE = "users.delete": "DELETE FROM users WHERE id = :id";
///     }
///     pub fn names() -> Vec<&'static str> {
///         STATEMENTS.list().into_iter().map(|statement| statement.name()).collect()
///     }
///     pub fn find() -> (&'static str, &'static [&'static str]) {
///         (FIND.sql(), FIND.parameters())
///     }
///     pub fn repeatable() -> [bool; 2] {
///         [FIND.is_repeatable(), DELETE.is_repeatable()]
///     }
/// }
/// assert_eq!(users::names(), ["users.find", "users.delete"]);
/// assert_eq!(users::repeatable(), [true, false]);
/// assert_eq!(users::find().0, "SELECT email FROM users WHERE id = $1 AND created_at < $2::timestamptz");
/// assert_eq!(users::find().1, ["id", "before"]);
/// ```
#[macro_export]
macro_rules! statements {
    // `$argument` is never there: a repetition of the transcription needs a variable.
    (
        modules: $($module:ident),*;
        $(
            $(#[doc = $doc:literal])*
            $(#[repeatable $($argument:literal)?])?
            $(#[proves($($fact:ident),+)])?
            $constant:ident = $name:literal: $sql:expr;
        )*
    ) => {
        $(
            $(#[doc = $doc])*
            const $constant: $crate::store::Statement = $crate::statement!(
                $(#[repeatable $($argument)?])? $(#[proves($($fact),+)])? $name: $sql
            );
        )*
        /// The statements of this module and of the modules below it.
        pub(crate) const STATEMENTS: $crate::store::binding::StatementGroup =
            $crate::store::binding::StatementGroup::new(&[$(&$constant),*], &[$(&$module::STATEMENTS),*]);
    };
    (
        $(
            $(#[doc = $doc:literal])*
            $(#[repeatable $($argument:literal)?])?
            $(#[proves($($fact:ident),+)])?
            $constant:ident = $name:literal: $sql:expr;
        )*
    ) => {
        $crate::statements! {
            modules: ;
            $(
                $(#[doc = $doc])*
                $(#[repeatable $($argument)?])?
                $(#[proves($($fact),+)])?
                $constant = $name: $sql;
            )*
        }
    };
}
pub use statements;

/// A single statement that is not listed with others: `statement!(#[repeatable] "tests.one": "SELECT :value::int")`.
#[macro_export]
macro_rules! statement {
    (#[repeatable] $name:literal: $sql:expr) => {
        $crate::statement!($name: $sql).repeatable()
    };
    (#[proves($($fact:ident),+)] $name:literal: $sql:expr) => {
        $crate::statement!($name: $sql).proving(&[$($crate::journal::FactKind::$fact),+])
    };
    ($name:literal: $sql:expr) => {{
        use $crate::store::placeholders::{NumberedSql, TranslationBuffer};
        const SOURCE: &str = $sql;
        const BUFFER: TranslationBuffer<{ 2 * SOURCE.len() }> = TranslationBuffer::translate(SOURCE);
        const NUMBERED: &NumberedSql<{ BUFFER.length() }, { BUFFER.names_length() }, { BUFFER.placeholder_count() }> =
            &BUFFER.finish();
        const PARAMETERS: [&str; BUFFER.count()] = NUMBERED.parameters(&BUFFER);
        $crate::store::Statement::from_numbered($name, NUMBERED, &PARAMETERS)
    }};
}
pub use statement;

/// Binds a value to each parameter of a statement, in any order: `bind!(FIND, id: user.id, before)`.
///
/// `before` alone is the variable of that name. `..audit` at the end binds the four parameters of audit rows to the
/// fields of a variable of type `AuditArrays`.
///
/// ```
/// use platform::{bind, store::Statement};
///
/// const FIND: Statement = platform::statement!("users.find": "SELECT id FROM users WHERE email = :email");
/// let bound = bind!(FIND, email: "ann@example.com");
/// ```
///
/// A name that is not a parameter of the statement does not compile:
///
/// ```compile_fail,E0080
/// use platform::{bind, store::Statement};
///
/// const FIND: Statement = platform::statement!("users.find": "SELECT id FROM users WHERE email = :email");
/// let bound = bind!(FIND, email: "ann@example.com", phone: "15550100");
/// ```
///
/// Neither does a parameter without a value:
///
/// ```compile_fail,E0080
/// use platform::{bind, store::Statement};
///
/// const FIND: Statement = platform::statement!("users.find": "SELECT id FROM users WHERE email = :email");
/// let bound = bind!(FIND);
/// ```
#[macro_export]
macro_rules! bind {
    (@value $name:ident) => { $name };
    (@value $name:ident $value:expr) => { $value };
    ($statement:path $(, $name:ident $(: $value:expr)?)*, ..$audit:ident $(,)?) => {
        $crate::bind!(
            $statement
            $(, $name $(: $value)?)*,
            audit_ids: $audit.ids,
            audit_payloads: $audit.payloads,
            audit_times: $audit.times,
            audit_addresses: $audit.addresses,
        )
    };
    ($statement:path $(, $name:ident $(: $value:expr)?)* $(,)?) => {{
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        const ORDER: [usize; NAMES.len()] = $statement.order_of(NAMES);
        match ($($crate::bind!(@value $name $($value)?),)*) {
            ($($name,)*) => $crate::store::binding::BoundStatement::encode(
                &$statement,
                ORDER,
                [$(&|values| $crate::store::binding::append(values, &$name)),*],
            ),
        }
    }};
}
pub use bind;
