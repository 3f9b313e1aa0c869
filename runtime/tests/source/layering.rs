//! The arrows between the runtime's modules run one way, and what is shared between threads goes
//! through one door.

use crate::tree::{self, Source};

/// The modules of the crate, lowest first: each may use what stands before it.
const ORDER: &str =
    "sync queue time event task scheduler mailbox actor system journal net sim testkit face";

/// What only `sync` may take from the standard library.
const SHARED: [&str; 7] = [
    "sync::atomic",
    "sync::mpsc",
    "sync::Arc",
    "sync::Condvar",
    "sync::Mutex",
    "sync::RwLock",
    "thread",
];

/// The orderings that have a partner, which a comment must name.
const PAIRED: [&str; 4] = ["Acquire", "Release", "AcqRel", "SeqCst"];

/// How many lines, its own first one included, a comment speaks of: those of one statement.
const COMMENT_REACH: usize = 6;

#[test]
fn no_arrow_points_back() {
    let mut wrong = Vec::new();
    for source in library() {
        let module = module_of(&source);
        let code = code_of(&source);
        for path in paths(&code, "crate").filter(|path| !path.ends_with('!')) {
            match (rank_of(module), rank_of(first(&path))) {
                (Some(rank), Some(used)) if used <= rank => {}
                _ => wrong.push(format!("{}: crate::{path}", source.path)),
            }
        }
        if code.contains("super::super::") {
            wrong.push(format!("{}: super::super, which may leave the module", source.path));
        }
    }
    assert!(wrong.is_empty(), "not below the user in `{ORDER}`:\n{}", wrong.join("\n"));
}

#[test]
fn threads_and_what_they_share_go_through_sync() {
    let mut wrong = Vec::new();
    for source in library().filter(|source| module_of(source) != "sync") {
        let code = code_of(&source);
        let std = ["std", "core", "alloc"].iter().flat_map(|library| paths(&code, library));
        let shared = std.filter(|path| SHARED.iter().any(|shared| is_within(path, shared)));
        wrong.extend(shared.map(|path| format!("{}: {path}", source.path)));
        wrong.extend(paths(&code, "parking_lot").map(|path| format!("{}: {path}", source.path)));
    }
    assert!(wrong.is_empty(), "take these from crate::sync:\n{}", wrong.join("\n"));
}

#[test]
fn orderings_name_their_partner() {
    let mut wrong = Vec::new();
    for source in library() {
        let mut reach = 0;
        let lines = code_of(&source).lines().count();
        for (number, line) in source.text.lines().enumerate().take(lines) {
            let (code, comment) = line.split_once("//").unwrap_or((line, ""));
            if names_one(comment, "") || comment.contains("pairs") {
                reach = number + COMMENT_REACH - 1;
            }
            if !names_one(code, "Ordering::") {
                continue;
            }
            if number > reach {
                wrong.push(format!("{}:{}: {}", source.path, number + 1, line.trim()));
            }
            // The second ordering of a compare-and-exchange stands on the next line.
            reach = reach.max(number + 1);
        }
    }
    assert!(wrong.is_empty(), "say which edge these make:\n{}", wrong.join("\n"));
}

#[test]
fn paths_are_spelled_out() {
    let code = "use crate::{sync::{Arc, cell::Cell}, task}; xcrate::no; crate::event::emit::<u8>()";
    let found: Vec<_> = paths(code, "crate").collect();
    assert_eq!(found, ["sync::Arc", "sync::cell::Cell", "task", "event::emit::"]);
}

/// A file's text without comments and without a test module at its end, line for line.
fn code_of(source: &Source) -> String {
    let lines = source.text.lines().take_while(|line| !line.starts_with("mod tests {"));
    lines.map(|line| line.split("//").next().unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// The files that make up the library.
fn library() -> impl Iterator<Item = Source> {
    let all = tree::files("runtime/src", "rs").into_iter();
    all.filter(|source| !source.is_test() && source.path != "runtime/src/lib.rs")
}

fn module_of(source: &Source) -> &str {
    let below = source.path.trim_start_matches("runtime/src/");
    below.split('/').next().unwrap_or_default().trim_end_matches(".rs")
}

fn is_within(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

fn rank_of(module: &str) -> Option<usize> {
    ORDER.split(' ').position(|name| name == module)
}

fn first(path: &str) -> &str {
    path.split("::").next().unwrap_or_default()
}

/// Whether the text names a paired ordering, written with the prefix.
fn names_one(text: &str, prefix: &str) -> bool {
    PAIRED.iter().any(|ordering| text.contains(&format!("{prefix}{ordering}")))
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The paths that start with `head::`, without that head; groups in braces are spelled out.
fn paths<'a>(code: &'a str, head: &'a str) -> impl Iterator<Item = String> + 'a {
    let starts = code.match_indices(head).filter(move |(at, _)| !code[..*at].ends_with(is_name));
    starts.filter_map(move |(at, _)| code[at + head.len()..].strip_prefix("::")).flat_map(expand)
}

fn expand(text: &str) -> Vec<String> {
    let text = text.trim_start();
    if let Some(group) = text.strip_prefix('{') {
        return items(group).into_iter().flat_map(expand).collect();
    }
    let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    match rest.strip_prefix("::") {
        Some(rest) => expand(rest).into_iter().map(|tail| format!("{name}::{tail}")).collect(),
        None if rest.starts_with('!') => vec![format!("{name}!")],
        None => vec![name.to_owned()],
    }
}

/// Splits what follows an opening brace at its own commas, up to the closing brace.
fn items(group: &str) -> Vec<&str> {
    let (mut items, mut start, mut depth) = (Vec::new(), 0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                items.push(group[start..at].trim());
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    items.retain(|item| !item.is_empty());
    items
}
