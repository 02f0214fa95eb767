//! The values of a statement, encoded once, as parameters or as literals in its text.

use std::ops::Range;

use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArgumentBuffer, PgArguments, PgTypeInfo};
use sqlx::{Arguments, Encode, Postgres, Type, TypeInfo};

use super::literal::push_literal;
use super::placeholders::Placeholder;

/// The values of a statement in PostgreSQL's binary format, with their types.
#[derive(Debug, Default)]
pub struct EncodedValues {
    bytes: PgArgumentBuffer,
    values: Vec<EncodedValue>,
}

#[derive(Debug)]
struct EncodedValue {
    type_info: PgTypeInfo,
    /// Where its bytes are; `None` for NULL.
    range: Option<Range<usize>>,
}

impl EncodedValues {
    pub(super) fn with_capacity(count: usize) -> Self {
        Self { bytes: PgArgumentBuffer::default(), values: Vec::with_capacity(count) }
    }

    pub(super) fn add<'q, T: Encode<'q, Postgres> + Type<Postgres>>(&mut self, value: T) -> Result<(), BoxDynError> {
        let type_info = value.produces().unwrap_or_else(T::type_info);
        let start = self.bytes.len();
        let range = match value.encode(&mut self.bytes)? {
            IsNull::Yes => None,
            IsNull::No => Some(start..self.bytes.len()),
        };
        self.values.push(EncodedValue { type_info, range });
        Ok(())
    }

    fn iter(&self) -> impl Iterator<Item = RawValue<'_>> {
        self.values.iter().map(|EncodedValue { type_info, range }| RawValue {
            type_info,
            bytes: range.clone().map(|range| &self.bytes[range]),
        })
    }

    /// Returns the values as parameters of a prepared statement.
    pub(super) fn to_arguments(&self) -> Result<PgArguments, BoxDynError> {
        let mut arguments = PgArguments::default();
        arguments.reserve(self.values.len(), self.bytes.len() + 4 * self.values.len());
        self.iter().try_for_each(|value| arguments.add(value))?;
        Ok(arguments)
    }

    /// Appends the text of a statement with literals in the place of its parameters.
    pub(super) fn push_statement(
        &self,
        text: &mut String,
        sql: &str,
        placeholders: &[Placeholder],
    ) -> Result<(), BoxDynError> {
        let mut literals = Vec::with_capacity(self.values.len());
        for value in self.iter() {
            let mut literal = String::new();
            push_literal(&mut literal, value.type_info.name(), value.bytes)?;
            literals.push(literal);
        }
        let mut copied = 0;
        for placeholder in placeholders {
            let range = placeholder.range();
            text.push_str(&sql[copied..range.start]);
            text.push_str(&literals[placeholder.parameter()]);
            copied = range.end;
        }
        text.push_str(&sql[copied..]);
        Ok(())
    }
}

/// A value that is encoded already.
struct RawValue<'a> {
    type_info: &'a PgTypeInfo,
    bytes: Option<&'a [u8]>,
}

impl Encode<'_, Postgres> for RawValue<'_> {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        let Some(bytes) = self.bytes else { return Ok(IsNull::Yes) };
        buffer.extend_from_slice(bytes);
        Ok(IsNull::No)
    }

    fn produces(&self) -> Option<PgTypeInfo> {
        Some(self.type_info.clone())
    }
}

impl Type<Postgres> for RawValue<'_> {
    fn type_info() -> PgTypeInfo {
        <[u8] as Type<Postgres>>::type_info()
    }
}
