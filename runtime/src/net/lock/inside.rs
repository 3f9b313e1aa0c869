//! What a change inside of the types of a message means, while its signature stays.

use super::file::Part;
use super::{Change, Effect};
use crate::sync::planted;
use std::collections::BTreeMap;

/// All differences, in the order in which they are met.
pub(super) fn compare(old: &[Part], new: &[Part]) -> Vec<Change> {
    if planted!("lock-inside-unseen": old == new => true) {
        return Vec::new();
    }
    if old.is_empty() {
        let text = "the file does not say yet what is inside".to_owned();
        return vec![Change { effect: Effect::Harmless, text }];
    }
    let (mut before, mut after) = (Names::default(), Names::default());
    if before.numbered(old) == after.numbered(new) {
        return renamed(old, &before, new, &after);
    }
    let mut changes = gone_or_changed(old, new);
    changes.extend(added(old, new));
    changes.extend(moved(old, new));
    changes
}

const fn breaks(text: String) -> Change {
    Change { effect: Effect::Breaks, text }
}

/// The parts that are called otherwise, where that is all. The bytes have no names, so this is harmless, unless it is the
/// parts that have changed places and not the names.
fn renamed(old: &[Part], before: &Names<'_>, new: &[Part], after: &Names<'_>) -> Vec<Change> {
    let differ = old.iter().zip(new).filter(|(was, is)| was.way != is.way);
    let change = |(was, is): (&Part, &Part)| {
        let (was, is) = (&was.way, &is.way);
        let is_known = has_moved(was, before, is, after);
        if planted!("lock-places-alike": is_known => false) {
            return breaks(format!("`{is}` is where `{was}` was"));
        }
        let text = format!("`{was}` is called `{is}`, which the bytes do not say");
        Change { effect: Effect::Harmless, text }
    };
    differ.map(change).collect()
}

/// Whether a name on the way was, or is, that of another part in the same place.
fn has_moved(was: &str, before: &Names<'_>, is: &str, after: &Names<'_>) -> bool {
    let mut place = String::new();
    let moved = steps(was).into_iter().zip(steps(is)).find(|(was, is)| {
        let has = |names: &Names<'_>, step| {
            names.0.get(&place).is_some_and(|names| names.contains(&step))
        };
        let has_moved = was != is && (has(before, *is) || has(after, *was));
        place = before.numbered_step(&place, was);
        has_moved
    });
    moved.is_some()
}

fn gone_or_changed(old: &[Part], new: &[Part]) -> Vec<Change> {
    let change = |before: &Part| match find(new, &before.way) {
        Some(after) if after.what == before.what => None,
        Some(after) => Some(breaks(format!("`{before}` became `{after}`"))),
        None => Some(breaks(format!("`{before}` is gone"))),
    };
    old.iter().filter_map(change).collect()
}

fn added(old: &[Part], new: &[Part]) -> Vec<Change> {
    let are_new = new.iter().filter(|after| find(old, &after.way).is_none());
    let change = |after: &Part| {
        if is_variant_behind(old, new, &after.way) {
            let text =
                format!("`{after}` is new, behind those that were there; old nodes refuse it");
            return Change { effect: Effect::Harmless, text };
        }
        breaks(format!("`{after}` is new"))
    };
    are_new.map(change).collect()
}

/// The first of the parts that were there before and come in another order now.
fn moved(old: &[Part], new: &[Part]) -> Option<Change> {
    let before = old.iter().filter(|part| find(new, &part.way).is_some());
    let mut after = new.iter().filter(|part| find(old, &part.way).is_some());
    let (was, is) = before.zip(&mut after).find(|(was, is)| was.way != is.way)?;
    Some(breaks(format!("`{}` is where `{}` was", is.way, was.way)))
}

/// Whether a new part is of a new variant that comes behind all that its enum had.
fn is_variant_behind(old: &[Part], new: &[Part], way: &str) -> bool {
    let mut end = 0;
    steps(way).into_iter().any(|variant| {
        let of = way.split_at(end).0;
        end += variant.len();
        let (had, has) = (variants(old, of), variants(new, of));
        let first = has.iter().position(|it| *it == variant);
        let is_new = !had.is_empty() && !had.contains(&variant);
        is_new && first.is_some_and(|first| has[first..].iter().all(|it| !had.contains(it)))
    })
}

/// The variants of what a way leads to, as the steps to them.
fn variants<'a>(parts: &'a [Part], way: &str) -> Vec<&'a str> {
    let step = |part: &'a Part| {
        let rest = part.way.strip_prefix(way)?;
        Some(rest.split_at(step_end(rest)).0).filter(|step| step.starts_with("::"))
    };
    parts.iter().filter_map(step).collect()
}

fn find<'a>(parts: &'a [Part], way: &str) -> Option<&'a Part> {
    parts.iter().find(|part| part.way == way)
}

/// The names of what lies in the same, in their order, by where that is; ways to there have numbers in place of names.
///
/// Numbers say which parts lie in the same, and so what the bytes are, as names do; and they stay when names do not.
#[derive(Default)]
struct Names<'a>(BTreeMap<String, Vec<&'a str>>);

impl<'a> Names<'a> {
    /// The parts with numbers in place of names.
    fn numbered(&mut self, parts: &'a [Part]) -> Vec<(String, String)> {
        let numbered = |part: &'a Part| {
            let what = match part.what.strip_prefix("as ") {
                Some(whole) => format!("as {}", self.numbered_way(whole)),
                None => part.what.clone(),
            };
            (self.numbered_way(&part.way), what)
        };
        parts.iter().map(numbered).collect()
    }

    fn numbered_way(&mut self, way: &'a str) -> String {
        let mut place = String::new();
        for step in steps(way) {
            let names = self.0.entry(place.clone()).or_default();
            if !names.contains(&step) {
                names.push(step);
            }
            place = self.numbered_step(&place, step);
        }
        place
    }

    /// The way to `place`, and from there by a step of which the name is known.
    fn numbered_step(&self, place: &str, step: &str) -> String {
        let mark = &step[..mark_len(step)];
        if !matches!(mark, "." | "::") {
            return format!("{place}{step}");
        }
        let names = self.0.get(place).into_iter().flatten();
        let number = names.take_while(|name| **name != step).count();
        format!("{place}{mark}{}", planted!("lock-parts-joined": number => 0))
    }
}

/// What a step of a way begins with, and so the one before it ends with.
const MARKS: [char; 5] = ['.', ':', '?', '[', '{'];

/// The steps of a way: `order`, `.lines`, `[]` and `.count` of `order.lines[].count`.
fn steps(mut way: &str) -> Vec<&str> {
    let mut steps = Vec::new();
    while !way.is_empty() {
        let (step, rest) = way.split_at(step_end(way));
        steps.push(step);
        way = rest;
    }
    steps
}

/// Where the first step of a way ends.
fn step_end(way: &str) -> usize {
    let mark = mark_len(way);
    let name = &way[mark..];
    mark + if name.starts_with('"') {
        quoted_len(name)
    } else {
        name.find(MARKS).unwrap_or(name.len())
    }
}

fn mark_len(step: &str) -> usize {
    if step.starts_with("::") { 2 } else { usize::from(step.starts_with(MARKS)) }
}

/// The length of a name in quotes, in which any sign may be.
fn quoted_len(name: &str) -> usize {
    let mut is_escaped = false;
    let end = name.char_indices().skip(1).find(|(_, sign)| {
        let is_end = *sign == '"' && !is_escaped;
        is_escaped = *sign == '\\' && !is_escaped;
        is_end
    });
    end.map_or(name.len(), |(at, _)| at + 1)
}
