//! What a change inside of the types of a message means, while its signature stays.

use super::file::Part;
use super::{Change, Effect};
use crate::sync::planted;

/// All differences, in the order in which they are met.
pub(super) fn compare(old: &[Part], new: &[Part]) -> Vec<Change> {
    if planted!("lock-inside-unseen": old == new => true) {
        return Vec::new();
    }
    if old.is_empty() {
        let text = "the file does not say yet what is inside".to_owned();
        return vec![Change { effect: Effect::Harmless, text }];
    }
    let is_alike = |(before, after): (&Part, &Part)| bare(before) == bare(after);
    if old.len() == new.len() && old.iter().zip(new).all(is_alike) {
        return renamed(old, new);
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
fn renamed(old: &[Part], new: &[Part]) -> Vec<Change> {
    let differ = old.iter().zip(new).filter(|(before, after)| before != after);
    let change = |(before, after): (&Part, &Part)| {
        let (was, is) = (&before.way, &after.way);
        let is_known = find(old, is).is_some() || find(new, was).is_some();
        if planted!("lock-places-alike": is_known => false) {
            return breaks(format!("`{is}` is where `{was}` was"));
        }
        let text = format!("`{was}` is called `{is}`, which the bytes do not say");
        Change { effect: Effect::Harmless, text }
    };
    differ.map(change).collect()
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
    let starts = way.match_indices("::").map(|(at, _)| at);
    starts.into_iter().any(|at| {
        let (all, variant) = way.split_at(at + "::".len());
        let end = variant.find(ENDS).unwrap_or(variant.len());
        let variant = &variant[..end];
        let of = |part: &Part| {
            let rest = part.way.strip_prefix(all)?;
            Some(rest[..rest.find(ENDS).unwrap_or(rest.len())].to_owned())
        };
        let had: Vec<_> = old.iter().filter_map(of).collect();
        let has: Vec<_> = new.iter().filter_map(of).collect();
        let first = has.iter().position(|it| it == variant).unwrap_or(0);
        let is_new = !had.is_empty() && !had.iter().any(|it| it == variant);
        is_new && has[first..].iter().all(|it| !had.contains(it))
    })
}

/// What a name ends with.
const ENDS: [char; 5] = ['.', ':', '?', '[', '{'];

fn find<'a>(parts: &'a [Part], way: &str) -> Option<&'a Part> {
    parts.iter().find(|part| part.way == way)
}

/// The part without names.
fn bare(part: &Part) -> (String, String) {
    let is_whole = part.what.starts_with("as ");
    let what = if is_whole { without_names(&part.what) } else { part.what.clone() };
    (without_names(&part.way), what)
}

fn without_names(way: &str) -> String {
    let mut is_name = false;
    let signs = way.chars().filter(|c| {
        if ENDS.contains(c) {
            is_name = matches!(c, '.' | ':');
            return true;
        }
        !is_name
    });
    signs.collect()
}
