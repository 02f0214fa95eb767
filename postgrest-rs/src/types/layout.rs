//! Types of TypeScript as text, broken into lines as Prettier does: at most 80 columns, no semicolons.

/// The longest line that is not broken.
const WIDTH: usize = 80;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Type {
    /// A keyword, or a reference.
    Name(String),
    /// A text.
    Literal(String),
    Array(Box<Type>),
    /// One of these.
    Union(Vec<Type>),
    /// These in their order.
    Tuple(Vec<Type>),
    Object(Object),
    /// An object without known members: `[_ in never]: never`.
    Nothing,
    /// What a call answers that cannot be resolved: `{ error: true }` and its message.
    Failure(String),
}

/// The type of an object.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Object {
    pub(super) members: Vec<Member>,
    /// Whether it has a line for each member although they fit into one.
    pub(super) is_expanded: bool,
}

/// A member of an object.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) is_optional: bool,
    pub(super) value: Type,
}

impl Member {
    pub(super) fn new(name: impl Into<String>, value: Type) -> Self {
        Self { name: name.into(), is_optional: false, value }
    }

    pub(super) fn optional(name: impl Into<String>, is_optional: bool, value: Type) -> Self {
        Self { name: name.into(), is_optional, value }
    }
}

impl Type {
    pub(super) fn name(name: &str) -> Self {
        Self::Name(name.to_owned())
    }

    /// An object with a line for each member.
    pub(super) fn expanded(members: Vec<Member>) -> Self {
        Self::Object(Object { members, is_expanded: true })
    }

    /// An object in one line, if it fits.
    pub(super) fn inline(members: Vec<Member>) -> Self {
        Self::Object(Object { members, is_expanded: false })
    }

    /// The type with `null`, unless it has it already.
    pub(super) fn nullable(self, is_nullable: bool) -> Self {
        match self {
            Self::Name(name) if name == "unknown" => Self::Name(name),
            present if !is_nullable => present,
            Self::Union(mut types) => {
                types.push(Self::name("null"));
                Self::Union(types)
            }
            present => Self::Union(vec![present, Self::name("null")]),
        }
    }

    /// The text in one line; `None` if it has several in any case.
    fn flat(&self) -> Option<String> {
        Some(match self {
            Self::Name(name) => name.clone(),
            Self::Literal(text) => quote(text),
            Self::Array(of) => match &**of {
                Self::Union(_) => format!("({})[]", of.flat()?),
                _ => format!("{}[]", of.flat()?),
            },
            Self::Union(types) => types.iter().map(Self::flat).collect::<Option<Vec<_>>>()?.join(" | "),
            Self::Tuple(types) => format!("[{}]", types.iter().map(Self::flat).collect::<Option<Vec<_>>>()?.join(", ")),
            Self::Object(Object { members, .. }) if members.is_empty() => "{}".to_owned(),
            Self::Object(Object { is_expanded: true, .. }) | Self::Nothing => return None,
            Self::Object(Object { members, .. }) => {
                let members = members.iter().map(|member| Some(format!("{}{}", member.head(), member.value.flat()?)));
                format!("{{ {} }}", members.collect::<Option<Vec<_>>>()?.join("; "))
            }
            Self::Failure(message) => format!("{{ error: true }} & {}", quote(message)),
        })
    }

    /// Appends the text; its lines after the first are indented by `indent`, and it begins at the end of `out`.
    pub(super) fn write(&self, indent: usize, out: &mut String) {
        let column = out.rsplit('\n').next().unwrap_or_default().chars().count();
        match self.flat().filter(|flat| column + flat.chars().count() <= WIDTH) {
            Some(flat) => out.push_str(&flat),
            None => self.write_lines(indent, out),
        }
    }

    fn write_lines(&self, indent: usize, out: &mut String) {
        match self {
            Self::Name(name) => out.push_str(name),
            Self::Literal(text) => out.push_str(&quote(text)),
            Self::Nothing => {
                out.push('{');
                new_line(indent + 2, out);
                out.push_str("[_ in never]: never");
                new_line(indent, out);
                out.push('}');
            }
            Self::Object(Object { members, .. }) => {
                out.push('{');
                write_members(members, indent + 2, out);
                new_line(indent, out);
                out.push('}');
            }
            Self::Array(of) => match &**of {
                Self::Union(types) => {
                    out.push('(');
                    write_union(types, indent + 2, out);
                    new_line(indent, out);
                    out.push_str(")[]");
                }
                of => {
                    of.write_lines(indent, out);
                    out.push_str("[]");
                }
            },
            // An object stays beside the colon when only `null` is added.
            Self::Union(types) => match &types[..] {
                [Self::Object(_), null] if *null == Self::name("null") => {
                    types[0].write_lines(indent, out);
                    out.push_str(" | null");
                }
                types => {
                    // The colon is the last character of its line.
                    while out.ends_with(' ') {
                        out.pop();
                    }
                    write_union(types, indent + 2, out);
                }
            },
            Self::Tuple(types) => {
                out.push('[');
                for element in types {
                    new_line(indent + 2, out);
                    element.write(indent + 2, out);
                    out.push(',');
                }
                new_line(indent, out);
                out.push(']');
            }
            Self::Failure(message) => {
                out.push('{');
                new_line(indent + 2, out);
                out.push_str("error: true");
                new_line(indent, out);
                out.push_str("} & ");
                out.push_str(&quote(message));
            }
        }
    }
}

impl Member {
    fn head(&self) -> String {
        format!("{}{}: ", key(&self.name), if self.is_optional { "?" } else { "" })
    }
}

/// Appends a line for each member.
pub(super) fn write_members(members: &[Member], indent: usize, out: &mut String) {
    for member in members {
        new_line(indent, out);
        out.push_str(&member.head());
        member.value.write(indent, out);
    }
}

fn write_union(types: &[Type], indent: usize, out: &mut String) {
    for alternative in types {
        new_line(indent, out);
        out.push_str("| ");
        alternative.write(indent + 2, out);
    }
}

pub(super) fn new_line(indent: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', indent));
}

/// The name of a member, in quotes where it is no identifier.
pub(super) fn key(name: &str) -> String {
    let mut characters = name.chars();
    let is_start = |character: char| character == '$' || character == '_' || character.is_alphabetic();
    let is_identifier = characters.next().is_some_and(is_start)
        && characters.all(|character| is_start(character) || character.is_alphanumeric());
    if is_identifier { name.to_owned() } else { quote(name) }
}

/// A text in double quotes, or in single ones where fewer of them have to be escaped.
pub(super) fn quote(text: &str) -> String {
    let (double, single) = (text.matches('"').count(), text.matches('\'').count());
    // Texts serialise always.
    let json = serde_json::to_string(text).unwrap_or_default();
    if double <= single {
        return json;
    }
    let inner = json[1..json.len() - 1].replace("\\\"", "\"").replace('\'', "\\'");
    format!("'{inner}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: Type) -> String {
        let mut out = String::new();
        write_members(&[Member::new("member", value)], 6, &mut out);
        out
    }

    fn labels() -> Vec<Type> {
        ["happy", "sad", "another", "and yet another", "the last of them", "none"]
            .map(|text| Type::Literal(text.to_owned()))
            .into()
    }

    #[test]
    fn short_types_stay_in_one_line() {
        let arguments = Type::inline(vec![Member::optional("", true, Type::name("string"))]);
        let function = vec![Member::new("Args", arguments), Member::new("Returns", Type::name("number"))];
        assert_eq!(text(Type::inline(function)), "\n      member: { Args: { \"\"?: string }; Returns: number }");
        assert_eq!(text(Type::expanded(Vec::new())), "\n      member: {}");
        assert_eq!(
            text(Type::Array(Box::new(Type::name("unknown"))).nullable(true)),
            "\n      member: unknown[] | null"
        );
        assert_eq!(text(Type::name("unknown").nullable(true)), "\n      member: unknown");
    }

    #[test]
    fn long_unions_have_a_line_for_each_type() {
        let union = text(Type::Union(labels()).nullable(true));
        assert!(union.starts_with("\n      member:\n        | \"happy\"\n        | \"sad\"\n"), "{union}");
        assert!(union.ends_with("\n        | null"), "{union}");
        let array = text(Type::Array(Box::new(Type::Union(labels()))));
        assert!(
            array.starts_with("\n      member: (\n        | \"happy\"\n") && array.ends_with("\n      )[]"),
            "{array}"
        );
        let object = Type::expanded(vec![Member::new("a", Type::name("string"))]);
        assert_eq!(text(object.nullable(true)), "\n      member: {\n        a: string\n      } | null");
    }

    #[test]
    fn names_and_texts_are_quoted_where_needed() {
        let cases = [("a1", "a1"), ("Übung", "Übung"), ("1a", "\"1a\""), ("a b", "\"a b\""), ("", "\"\"")];
        for (name, expected) in cases {
            assert_eq!(key(name), expected);
        }
        assert_eq!(quote("it's"), "\"it's\"");
        assert_eq!(quote("it's \"quoted\""), "'it\\'s \"quoted\"'");
        assert_eq!(quote("a\nb"), "\"a\\nb\"");
    }
}
