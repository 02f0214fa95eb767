//! The origins of a view's columns, from the parse tree of its rule (`pg_rewrite.ev_action`).

/// The origin of a column of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The number of the view's column.
    pub column: i32,
    /// The OID of the relation that the column comes from.
    pub table: u32,
    /// The number of the column there.
    pub table_column: i32,
}

/// Reads the target list of the first query of a node tree. Columns that come from no relation are left out.
pub fn read_origins(tree: &str) -> Vec<Origin> {
    let mut origins = Vec::new();
    let mut depth = 0_usize;
    // The depth of the list of targets, once its name was read at the level of the query.
    let mut list_depth = None;
    let mut entry = Entry::default();
    let mut field = "";
    let mut announced = false;
    for token in (Tokens { rest: tree }) {
        match token {
            "(" | "{" => {
                depth += 1;
                if announced && list_depth.is_none() {
                    list_depth = Some(depth);
                }
                announced = false;
            }
            ")" | "}" => {
                if list_depth.is_some_and(|level| depth == level + 1) {
                    origins.extend(std::mem::take(&mut entry).finish());
                }
                if list_depth == Some(depth) {
                    return origins;
                }
                depth = depth.saturating_sub(1);
            }
            // The tree is a list of queries: `({QUERY :commandType … :targetList ({TARGETENTRY …`.
            ":targetList" if depth == 2 && list_depth.is_none() => announced = true,
            _ if announced => return origins,
            name if name.starts_with(':') => field = name,
            value if list_depth.is_some_and(|level| depth == level + 1) => entry.set(field, value),
            _ => {}
        }
    }
    origins
}

/// The fields of a target entry.
#[derive(Default)]
struct Entry {
    column: i32,
    table: u32,
    table_column: i32,
}

impl Entry {
    fn set(&mut self, field: &str, value: &str) {
        match field {
            ":resno" => self.column = value.parse().unwrap_or(0),
            ":resorigtbl" => self.table = value.parse().unwrap_or(0),
            ":resorigcol" => self.table_column = value.parse().unwrap_or(0),
            _ => {}
        }
    }

    fn finish(self) -> Option<Origin> {
        let Self { column, table, table_column } = self;
        (column > 0 && table > 0).then_some(Origin { column, table, table_column })
    }
}

/// The tokens of a node tree: parentheses and braces, and words that end before them or at white space. A backslash quotes the
/// next character.
struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.rest.trim_start_matches([' ', '\n', '\t']);
        let bytes = text.as_bytes();
        let mut end = 0;
        while end < bytes.len() {
            match bytes[end] {
                b'(' | b')' | b'{' | b'}' if end == 0 => {
                    end = 1;
                    break;
                }
                b'(' | b')' | b'{' | b'}' | b' ' | b'\n' | b'\t' => break,
                b'\\' => end += 2,
                _ => end += 1,
            }
        }
        // A quoted character may have several bytes.
        while end < text.len() && !text.is_char_boundary(end) {
            end += 1;
        }
        let (token, rest) = text.split_at(end.min(text.len()));
        self.rest = rest;
        (!token.is_empty()).then_some(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_those_of_the_outermost_query() {
        let tree = r"({QUERY :commandType 1 :cteList ({COMMONTABLEEXPR :ctename x :ctequery {QUERY :targetList ({TARGETENTRY :expr {VAR :varno 1} :resno 1 :resorigtbl 9 :resorigcol 9 :resjunk false})}}) :targetList ({TARGETENTRY :expr {FUNCEXPR :args ({TARGETENTRY :resno 7 :resorigtbl 7 :resorigcol 7})} :resno 1 :resname a\ \(b\) :ressortgroupref 0 :resorigtbl 0 :resorigcol 0 :resjunk false} {TARGETENTRY :expr {VAR :varno 1 :location 5} :resno 2 :resname id :ressortgroupref 0 :resorigtbl 16400 :resorigcol 1 :resjunk false}) :override 0})";
        assert_eq!(read_origins(tree), [Origin { column: 2, table: 16400, table_column: 1 }]);
    }

    proptest::proptest! {
        #[test]
        fn no_tree_panics(tree in r"[(){}:\\ a-z0-9é]{0,60}") {
            let _ = read_origins(&tree);
            let _ = read_origins(&format!("({{QUERY :targetList ({{TARGETENTRY {tree}"));
        }
    }
}
