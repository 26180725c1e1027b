//! The catalogue of attempts, a file for each family.
//!
//! The order of the layers is that in which the kernel asks them, given that the filter lets through what ordinary
//! programs need: files, signals, `prctl`, scheduling, shared memory, `pidfd_open`, `clone` without namespaces, and
//! TCP, UDP, local sockets and NETLINK_ROUTE. A capability that counts only in the host's own user
//! namespace has that namespace listed behind it.

use crate::Attempt;

/// `"name" [Layers] HARMLESS "What it tries." => |decoys| tried;` for each attempt of a family.
macro_rules! attempts {
    ($group:ident: $(
        $name:literal [$($layer:ident)+] $harmless:ident $what:literal => |$decoys:ident| $body:expr;
    )+) => {
        pub(super) const ATTEMPTS: &[$crate::Attempt] = &[$(
            $crate::Attempt {
                name: $name,
                group: $crate::Group::$group,
                what: $what,
                layers: &[$($crate::Layer::$layer),+],
                harmless: $crate::catalogue::$harmless,
                run: {
                    fn tried($decoys: &$crate::Decoys) -> $crate::judge::Tried {
                        $body
                    }
                    |decoys| $crate::judge::settle(tried(decoys))
                },
            },
        )+];
    };
}

mod descriptors;
mod devices;
mod environment;
mod fences;
mod files;
mod hidden;
mod interfaces;
mod keyrings;
mod limits;
mod links;
mod mounts;
mod namespaces;
mod netlink;
mod network;
mod planted;
mod privileges;
mod proc;
mod processes;
mod proxy;
mod readonly;
mod shared_memory;
mod signals;
mod sockets;
mod sys;
mod terminal;
mod time;

/// It touches a decoy or its own process.
const HARMLESS: bool = true;
/// It is made so that it fails even when permitted, but it should not come to that outside a cage of its own.
const DOUBTFUL: bool = false;

/// Every attempt.
pub static ATTEMPTS: &[Attempt] = &joined::<{ count(FAMILIES) }>(FAMILIES);

const FAMILIES: &[&[Attempt]] = &[
    files::ATTEMPTS,
    readonly::ATTEMPTS,
    hidden::ATTEMPTS,
    planted::ATTEMPTS,
    links::ATTEMPTS,
    mounts::ATTEMPTS,
    proc::ATTEMPTS,
    sys::ATTEMPTS,
    devices::ATTEMPTS,
    descriptors::ATTEMPTS,
    sockets::ATTEMPTS,
    processes::ATTEMPTS,
    signals::ATTEMPTS,
    keyrings::ATTEMPTS,
    namespaces::ATTEMPTS,
    privileges::ATTEMPTS,
    interfaces::ATTEMPTS,
    terminal::ATTEMPTS,
    shared_memory::ATTEMPTS,
    time::ATTEMPTS,
    network::ATTEMPTS,
    netlink::ATTEMPTS,
    proxy::ATTEMPTS,
    limits::ATTEMPTS,
    fences::ATTEMPTS,
    environment::ATTEMPTS,
];

const fn count(families: &[&[Attempt]]) -> usize {
    let mut sum = 0;
    let mut family = 0;
    while family < families.len() {
        sum += families[family].len();
        family += 1;
    }
    sum
}

const fn joined<const N: usize>(families: &[&[Attempt]]) -> [Attempt; N] {
    let mut all = [families[0][0]; N];
    let mut filled = 0;
    let mut family = 0;
    while family < families.len() {
        let mut nth = 0;
        while nth < families[family].len() {
            all[filled] = families[family][nth];
            filled += 1;
            nth += 1;
        }
        family += 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{Group, Layer};

    #[test]
    fn the_catalogue_is_large_and_every_name_is_its_own() {
        let names: BTreeSet<&str> = ATTEMPTS.iter().map(|attempt| attempt.name).collect();
        assert_eq!(names.len(), ATTEMPTS.len());
        assert!(ATTEMPTS.len() >= 190, "{}", ATTEMPTS.len());
        let is_kebab = |name: &str| {
            name.split('-').all(|word| !word.is_empty())
                && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        };
        let odd: Vec<_> = names.iter().filter(|name| !is_kebab(name)).collect();
        assert!(odd.is_empty(), "{odd:?}");
    }

    #[test]
    fn every_attempt_says_what_it_tries_and_who_refuses_it() {
        for Attempt { name, what, layers, .. } in ATTEMPTS {
            let plain = what.len() > 15 && what.len() < 120 && what.ends_with('.') && !what.contains('\n');
            assert!(plain && what.starts_with(char::is_uppercase), "{name}: {what}");
            let once: BTreeSet<&Layer> = layers.iter().collect();
            assert!(!layers.is_empty() && once.len() == layers.len(), "{name}: {layers:?}");
        }
    }

    #[test]
    fn every_group_and_every_layer_is_met() {
        for group in Group::ALL {
            assert!(ATTEMPTS.iter().any(|attempt| attempt.group == *group), "{group}");
        }
        for layer in Layer::ALL {
            assert!(ATTEMPTS.iter().any(|attempt| attempt.layers.contains(layer)), "{layer}");
        }
    }

    #[test]
    fn no_two_attempts_say_the_same_of_themselves() {
        let mut said = BTreeSet::new();
        for Attempt { name, group, what, .. } in ATTEMPTS {
            assert!(said.insert((group, what)), "{name}: {what}");
        }
    }
}
