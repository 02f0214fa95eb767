//! Files of one crate import each other without cycles.

use std::collections::{BTreeMap, BTreeSet};

use source_rules::{code_and_comments, is_word_character};

/// Cycles that are allowed: crate, files below its `src` in order, reason.
const KNOWN_CYCLES: &[(&str, &[&str], &str)] = &[];

/// The files that each file imports, by their paths below `src`.
type ImportGraph = BTreeMap<String, BTreeSet<String>>;

#[test]
fn files_of_a_crate_import_each_other_without_cycles() {
    let mut found = Vec::new();
    for name in source_rules::CRATES.iter() {
        let graph = crate_graph(name);
        for cycle in cycles(&graph).into_iter().filter(|cycle| !is_known(name, cycle)) {
            found.push(format!("{name}/src: {}\n{}", cycle.join(", "), describe_imports(&graph, &cycle)));
        }
    }
    assert!(found.is_empty(), "move what these files share to a file of its own:\n{}", found.join("\n"));
}

#[test]
fn every_known_cycle_exists() {
    for (name, files, _) in KNOWN_CYCLES {
        let graph = crate_graph(name);
        let is_there = cycles(&graph).iter().any(|cycle| cycle == files);
        assert!(is_there, "{name}/src has no cycle of {files:?} any more: remove it from KNOWN_CYCLES");
    }
}

#[test]
fn imports_of_the_sources_are_found() {
    let graph = crate_graph("gotrue-rs");
    let imports: usize = graph.values().map(BTreeSet::len).sum();
    assert!(graph.len() > 100 && imports > 500, "only {} files with {imports} imports were found", graph.len());
}

#[test]
fn imports_are_resolved_to_files() {
    let graph = literal_graph(&[
        ("lib.rs", "mod a;\npub use self::a::b::B;\nfn run() {\n    e::run(value.d::<u8>());\n}"),
        ("a/mod.rs", "mod b;\nuse crate::d;\npub struct A;"),
        ("a/b.rs", "use super::{\n    c::{self, C},\n    A,\n};"),
        ("a/c.rs", "pub struct C(super::super::e::E);"),
        ("d.rs", "// use crate::e::E;\nconst TEXT: &str = \"crate::e::E\";\nuse self::Item;\nuse other::crate_d;"),
        ("e.rs", "pub(in crate::a) use std::fmt;\n#[cfg(test)]\nmod tests {\n    use crate::d::*;\n}"),
        ("f/mod.rs", "#[cfg(test)]\nmod tests;\nmod g;\nmod h;\nuse g::G;\nuse std::{fmt, h::H};"),
        ("f/g.rs", "pub struct G;"),
        ("f/h.rs", "pub struct H;"),
    ]);
    let imports = |file: &str| graph[file].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(imports("lib.rs"), ["a/b.rs", "e.rs"]);
    assert_eq!(imports("a/mod.rs"), ["d.rs"]);
    assert_eq!(imports("a/b.rs"), ["a/c.rs", "a/mod.rs"]);
    assert_eq!(imports("a/c.rs"), ["e.rs"]);
    assert_eq!(imports("d.rs"), [""; 0]);
    assert_eq!(imports("e.rs"), [""; 0]);
    assert_eq!(imports("f/mod.rs"), ["f/g.rs"]);
}

#[test]
fn cycles_are_found() {
    let graph = literal_graph(&[
        ("lib.rs", "use self::a::A;"),
        ("a.rs", "use crate::b::B;"),
        ("b.rs", "use crate::c::C;\nuse crate::d::D;"),
        ("c.rs", "use super::a::A;"),
        ("d.rs", ""),
        ("e/mod.rs", "pub use self::f::F;"),
        ("e/f.rs", "use super::Shared;"),
    ]);
    assert_eq!(cycles(&graph), [vec!["a.rs", "b.rs", "c.rs"], vec!["e/f.rs", "e/mod.rs"]]);
    assert_eq!(describe_imports(&graph, &["e/f.rs", "e/mod.rs"]), "  e/f.rs: e/mod.rs\n  e/mod.rs: e/f.rs");
}

fn is_known(name: &str, cycle: &[&str]) -> bool {
    KNOWN_CYCLES.iter().any(|(known, files, _)| *known == name && *files == cycle)
}

/// The import graph of a crate without its unit tests.
fn crate_graph(name: &str) -> ImportGraph {
    let folder = source_rules::repository_root().join(name).join("src");
    let mut sources = Vec::new();
    for path in source_rules::list_files(&folder, &[".rs"]) {
        let file = path.strip_prefix(&folder).expect("it lies below").display().to_string();
        let is_test = file.split('/').any(|part| part == "tests" || part == "tests.rs");
        if !is_test {
            sources.push((file, source_rules::read_text(&path)));
        }
    }
    import_graph(&sources)
}

fn literal_graph(sources: &[(&str, &str)]) -> ImportGraph {
    let sources: Vec<_> = sources.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
    import_graph(&sources)
}

/// The graph of these files, each with its path and its text.
///
/// A path names the file of its longest part that is a module. An item that a module re-exports counts as an item of
/// that module.
fn import_graph(sources: &[(String, String)]) -> ImportGraph {
    let files: BTreeMap<Vec<String>, &String> = sources.iter().map(|(file, _)| (module_of(file), file)).collect();
    let mut graph = ImportGraph::new();
    for (file, text) in sources {
        let module = module_of(file);
        let (code, _) = code_and_comments(&source_rules::without_unit_tests(text));
        let mut imported = BTreeSet::new();
        for path in import_paths(&code, &children(&files, &module)) {
            let Some(path) = resolve(&path, &module) else { continue };
            let target = (0..=path.len()).rev().find_map(|length| files.get(&path[..length]));
            imported.extend(target.filter(|target| **target != file).map(|target| (*target).clone()));
        }
        graph.insert(file.clone(), imported);
    }
    graph
}

/// The module of a file: `store/mod.rs` is `store`, and the root of the crate is empty.
fn module_of(file: &str) -> Vec<String> {
    let mut names: Vec<String> = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    let is_root = names.len() == 1 && (names[0] == "lib" || names[0] == "main");
    if is_root || names.last().is_some_and(|name| name == "mod") {
        names.pop();
    }
    names
}

/// The names of the files that are modules of this module.
fn children<'a>(files: &'a BTreeMap<Vec<String>, &String>, module: &[String]) -> Vec<&'a str> {
    let child = |path: &'a Vec<String>| path.split_last().filter(|(_, parent)| *parent == module);
    files.keys().filter_map(|path| Some(child(path)?.0.as_str())).collect()
}

/// The paths of a source that begin with `crate`, `self`, `super` or a child module, in `use` items and elsewhere.
fn import_paths(code: &str, children: &[&str]) -> Vec<Vec<String>> {
    let starts = ["crate", "self", "super"].iter().chain(children);
    let starts: Vec<String> = starts.map(|name| (*name).to_owned()).collect();
    let mut found = Vec::new();
    for statement in code.split(';') {
        let (elsewhere, tree) = split_off_use(statement);
        for start in &starts {
            found.extend(expand(tree).into_iter().filter(|path| path.first() == Some(start)));
            let start = format!("{start}::");
            for (at, _) in elsewhere.match_indices(&start) {
                let before = &elsewhere[..at];
                let continues = |character: char| is_word_character(character) || ":$.".contains(character);
                // `pub(in crate::a)` is a visibility.
                if !before.ends_with(continues) && !before.ends_with("(in ") {
                    found.extend(expand(&elsewhere[at..]));
                }
            }
        }
    }
    found
}

/// The text before the `use` item at the end of a statement, and what it imports.
fn split_off_use(statement: &str) -> (&str, &str) {
    const KEYWORD: &str = "use ";
    let mut matches = statement.rmatch_indices(KEYWORD);
    let found = matches.find(|(at, _)| !statement[..*at].ends_with(is_word_character));
    found.map_or((statement, ""), |(at, _)| (&statement[..at], &statement[at + KEYWORD.len()..]))
}

/// The paths at the start of a text: one, or one for each member of a group.
fn expand(text: &str) -> Vec<Vec<String>> {
    if let Some(group) = text.strip_prefix('{') {
        return group_members(group).into_iter().flat_map(expand).collect();
    }
    let end = text.find(|character: char| !is_word_character(character)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    if name.is_empty() {
        return vec![Vec::new()];
    }
    let ends = rest.strip_prefix("::").map_or_else(|| vec![Vec::new()], expand);
    ends.into_iter().map(|end| [vec![name.to_owned()], end].concat()).collect()
}

/// The members of a group, of which `group` is the text after the opening brace.
fn group_members(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut members) = (0, 0, Vec::new());
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            ',' | '}' if depth == 0 => {
                members.push(group[start..at].trim());
                start = at + 1;
                if character == '}' {
                    break;
                }
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    members.retain(|member| !member.is_empty());
    members
}

/// The path from the root of the crate; `None` if it leaves the crate.
fn resolve(path: &[String], module: &[String]) -> Option<Vec<String>> {
    let supers = path.iter().take_while(|name| *name == "super").count();
    let kept = if path.first()? == "crate" { 0 } else { module.len().checked_sub(supers)? };
    let rest = path.iter().filter(|name| !["crate", "self", "super"].contains(&name.as_str()));
    Some(module[..kept].iter().chain(rest).cloned().collect())
}

/// The groups of files that import each other directly or by other files.
fn cycles(graph: &ImportGraph) -> Vec<Vec<&str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|file| (file.as_str(), reachable_files(graph, file))).collect();
    let mut found: Vec<Vec<&str>> = Vec::new();
    for (file, targets) in &reached {
        if targets.contains(file) && !found.iter().any(|cycle| cycle.contains(file)) {
            found.push(targets.iter().copied().filter(|target| reached[target].contains(file)).collect());
        }
    }
    found
}

/// The files that a file imports directly or by other files.
fn reachable_files<'a>(graph: &'a ImportGraph, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut pending = vec![from];
    while let Some(file) = pending.pop() {
        for target in &graph[file] {
            if reached.insert(target.as_str()) {
                pending.push(target);
            }
        }
    }
    reached
}

/// One line for each file of a cycle: the files of the cycle that it imports.
fn describe_imports(graph: &ImportGraph, cycle: &[&str]) -> String {
    let line = |file: &&str| {
        let inside = graph[*file].iter().map(String::as_str).filter(|target| cycle.contains(target));
        format!("  {file}: {}", inside.collect::<Vec<_>>().join(", "))
    };
    cycle.iter().map(line).collect::<Vec<_>>().join("\n")
}
