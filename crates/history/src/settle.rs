//! From where references stand to where they should: what is moved, and what somebody else did and is put aside. Pure.

use crate::book::{MAIN, Refs, STEWARD};
use crate::object::Oid;

/// Where something of somebody else's is kept.
pub const ASIDE: &str = "refs/aside/";

/// One reference from one place to another. Nothing is moved that does not stand where it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    pub name: String,
    pub from: Option<Oid>,
    pub to: Option<Oid>,
}

/// What to do, in this order: what is in the way is kept aside and goes, then the rest comes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settlement {
    pub first: Vec<Move>,
    pub then: Vec<Move>,
    /// References that stood where no record ever put them.
    pub foreign: Vec<String>,
}

impl Settlement {
    pub fn is_empty(&self) -> bool {
        self.first.is_empty() && self.then.is_empty()
    }
}

/// `knows` says whether records ever led to an object: where a reference stands at another one, somebody else put it there.
pub fn settle(wanted: &Refs, seen: &Refs, knows: impl Fn(Oid) -> bool) -> Settlement {
    let mut out = Settlement::default();
    for (name, &at) in seen {
        let stands = wanted.get(name).copied();
        if stands == Some(at) || !is_ours(name, wanted) || (name == MAIN && stands.is_some()) {
            continue;
        }
        if !knows(at) {
            out.foreign.push(name.clone());
            let aside = format!("{ASIDE}{at}");
            if !seen.contains_key(&aside) {
                out.first.push(Move { name: aside, from: None, to: Some(at) });
            }
        }
        match stands {
            Some(to) => out.then.push(Move { name: name.clone(), from: Some(at), to: Some(to) }),
            None => out.first.push(Move { name: name.clone(), from: Some(at), to: None }),
        }
    }
    let missing = wanted.iter().filter(|(name, _)| !seen.contains_key(*name));
    out.then.extend(missing.map(|(name, to)| Move { name: name.clone(), from: None, to: Some(*to) }));
    // Two names may have stood at one object.
    out.first.sort_by(|a, b| a.name.cmp(&b.name));
    out.first.dedup();
    out
}

/// What only records may move, and what stands in the way of it. Every other branch is people's.
fn is_ours(name: &str, wanted: &Refs) -> bool {
    let in_the_way = |wanted: &String| is_below(wanted, name) || is_below(name, wanted);
    name.starts_with(STEWARD) || wanted.contains_key(name) || wanted.keys().any(in_the_way)
}

/// Whether a reference would be a folder of the other.
fn is_below(name: &str, folder: &str) -> bool {
    name.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Object;

    fn id(text: &str) -> Oid {
        Object::blob(text).id
    }

    fn refs(pairs: &[(&str, &str)]) -> Refs {
        pairs.iter().map(|(name, text)| (format!("refs/heads/{name}"), id(text))).collect()
    }

    /// What is moved, shortly; `x` is an object no record led to.
    fn check(wanted: &[(&str, &str)], seen: &[(&str, &str)], first: &[&str], then: &[&str], foreign: usize) {
        let mine: Vec<Oid> = ["a", "b", "c"].into_iter().map(id).collect();
        let settled = settle(&refs(wanted), &refs(seen), |id| mine.contains(&id));
        let short = |moves: &[Move]| -> Vec<String> {
            let bare = |name: &str| match name.starts_with(ASIDE) {
                true => "aside".to_owned(),
                false => name.trim_start_matches("refs/heads/").to_owned(),
            };
            moves.iter().map(|it| bare(&it.name)).collect()
        };
        let shown = format!("{wanted:?} {seen:?}");
        assert_eq!(short(&settled.first), first, "{shown}");
        assert_eq!(short(&settled.then), then, "{shown}");
        assert_eq!(settled.foreign.len(), foreign, "{shown}");
    }

    #[test]
    fn what_is_missing_behind_or_over_is_put_right_and_what_is_people_s_stays() {
        let wanted = [("main", "a"), ("deployed/web", "b")];
        check(&wanted, &[], &[], &["deployed/web", "main"], 0);
        check(&wanted, &wanted, &[], &[], 0);
        check(&wanted, &[("main", "a"), ("deployed/web", "a")], &[], &["deployed/web"], 0);
        let over = [("main", "a"), ("deployed/web", "b"), ("steward/ep_1", "c")];
        check(&wanted, &over, &["steward/ep_1"], &[], 0);
        // Somebody else moved it: what they put there is kept aside.
        check(&wanted, &[("main", "a"), ("deployed/web", "x")], &["aside"], &["deployed/web"], 1);
        let more = [("main", "a"), ("deployed/web", "b"), ("steward/x", "x")];
        check(&wanted, &more, &["aside", "steward/x"], &[], 1);
        // Theirs: branches of their own, another deployed target, and where they took main.
        let theirs = [("main", "x"), ("mine", "x"), ("deployed/old", "x"), ("deployed/web", "b")];
        check(&wanted, &theirs, &[], &[], 0);
    }

    #[test]
    fn a_name_that_is_in_the_way_of_ours_makes_room() {
        let wanted = [("deployed/web", "b"), ("steward/ep_1", "c")];
        for bad in ["deployed", "steward", "deployed/web/x", "steward/ep_1/x"] {
            check(&wanted, &[(bad, "x")], &["aside", bad], &["deployed/web", "steward/ep_1"], 1);
        }
    }
}
