//! One change of config.yaml, and whether a text is that change and nothing else. Pure.
//!
//! In a system install the file is root's, and decides what the daemon's user may reach. Whoever asks for a change works as that user, so the
//! text is not believed: it has to be, byte by byte, what the change makes of the file that is there, and has to mean what that one meant but
//! for one target or one guard. The two are asked apart: a mistake in how lines are put in is not one in how they are understood.

use std::path::{Path, PathBuf};

use holdfast_config::{AbsolutePath, Config, StewardTarget};
use serde::{Deserialize, Serialize};

use super::configure::{self, Inserted, meaning};

/// What is changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Edit {
    /// A target is put in.
    Put(New),
    /// The target of that name is taken out, which stands there as it was put in.
    TakeOut {
        name: String,
        inserted: Inserted,
    },
    /// Where a guard is found is put in.
    Guard {
        windows: PathBuf,
        hearts: PathBuf,
    },
    Unguard {
        inserted: Inserted,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct New {
    pub(crate) name: String,
    pub(crate) address: String,
    pub(crate) port: u16,
    pub(crate) units: Vec<String>,
    pub(crate) endpoint: Option<String>,
}

impl New {
    pub(crate) fn item(&self) -> String {
        let New { name, address, port, units, endpoint } = self;
        configure::item(name, address, *port, units, endpoint.as_deref())
    }
}

/// Why a text is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    #[error("what is there cannot be read: `holdfast config check` shows where")]
    Unreadable,
    #[error("what would be there could not be read")]
    Broken,
    #[error("it has changed since it was read")]
    OtherText,
    #[error("more would be changed than that")]
    Rider,
}

impl Edit {
    /// The text after it, and what was put in; nothing where no place for it is plain to see, or where it no longer stands as it was put in.
    pub(crate) fn applied(&self, text: &str) -> Option<(String, Option<Inserted>)> {
        let fits = |(after, _): &(String, Option<Inserted>)| self.means_this_alone(text, after).is_ok();
        let put = |put: Option<(String, Inserted)>| put.map(|(after, inserted)| (after, Some(inserted)));
        match self {
            Edit::Put(new) => put(configure::with(text, &new.item())).filter(fits),
            Edit::Guard { windows, hearts } => {
                put(configure::with_tripwire(text, windows, hearts)).filter(fits)
            }
            Edit::TakeOut { inserted, .. } => {
                is_a_target(inserted).then_some(())?;
                let all = [configure::without(text, inserted), configure::without_item(text, inserted)];
                all.into_iter().flatten().map(|after| (after, None)).find(fits)
            }
            Edit::Unguard { inserted } => {
                is_a_guard(inserted).then_some(())?;
                configure::without(text, inserted).map(|after| (after, None)).filter(fits)
            }
        }
    }

    /// Whether one text is what this makes of the other, and nothing rides along.
    pub(crate) fn is_all(&self, before: &str, after: &str) -> Result<(), Refused> {
        self.means_this_alone(before, after)?;
        let applied = self.applied(before).map(|(text, _)| text);
        if applied.as_deref() == Some(after) { Ok(()) } else { Err(Refused::OtherText) }
    }

    /// By the reader of configurations, whatever the texts look like.
    fn means_this_alone(&self, before: &str, after: &str) -> Result<(), Refused> {
        let mut expected = meaning(before).ok_or(Refused::Unreadable)?;
        let after = meaning(after).ok_or(Refused::Broken)?;
        self.change(&mut expected).ok_or(Refused::Rider)?;
        if expected == after { Ok(()) } else { Err(Refused::Rider) }
    }

    /// Nothing where it cannot be done to that configuration.
    fn change(&self, config: &mut Config) -> Option<()> {
        let steward = &mut config.steward;
        match self {
            Edit::Put(new) => {
                let target = target(new)?;
                steward.targets.iter().all(|it| it.name != target.name).then_some(())?;
                steward.targets.push(target);
            }
            Edit::TakeOut { name, .. } => {
                steward.targets.iter().any(|it| it.name == *name).then_some(())?;
                steward.targets.retain(|it| it.name != *name);
            }
            Edit::Guard { windows, hearts } => {
                let told = &mut steward.tripwire;
                (told.windows.is_none() && told.hearts.is_none()).then_some(())?;
                let new =
                    meaning(&configure::with_tripwire("version: 1\n", windows, hearts)?.0)?.steward.tripwire;
                let is = |said: &Option<AbsolutePath>, path: &Path| {
                    said.as_ref().is_some_and(|it| it.as_path() == path)
                };
                (is(&new.windows, windows) && is(&new.hearts, hearts)).then_some(())?;
                (told.windows, told.hearts) = (new.windows, new.hearts);
            }
            Edit::Unguard { .. } => (steward.tripwire.windows, steward.tripwire.hearts) = (None, None),
        }
        Some(())
    }
}

/// As it is understood when it stands alone, and as it was said.
fn target(new: &New) -> Option<StewardTarget> {
    let alone = meaning(&format!("version: 1\n{}", configure::snippet(&new.item())))?;
    let target = alone.steward.targets.into_iter().next()?;
    let is_so = target.name == new.name
        && target.reach.address == new.address
        && target.reach.port == u32::from(new.port)
        && target.endpoint == new.endpoint;
    is_so.then_some(target)
}

/// The lines that a target is put in with, and no others: what was put in is remembered where others can write.
fn is_a_target(inserted: &Inserted) -> bool {
    let is_item = |line: &str| line.starts_with("- { name: ") && line.ends_with('}');
    match lines(inserted).as_slice() {
        ["steward:", "targets:", item] | ["targets:", item] | [item] => is_item(item),
        _ => false,
    }
}

fn is_a_guard(inserted: &Inserted) -> bool {
    match lines(inserted).as_slice() {
        ["steward:", "tripwire:", windows, hearts] | ["tripwire:", windows, hearts] => {
            windows.starts_with("windows: ") && hearts.starts_with("hearts: ")
        }
        _ => false,
    }
}

fn lines(inserted: &Inserted) -> Vec<&str> {
    inserted.text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOTS: &str = "\
version: 1
# egress: nothing of this is a key
notifications:
  channels: [log, webhook]
  webhook: { url: { secret: w }, sign_with: { secret: s }, allow_hosts: [hooks.example] }
egress:
  also:
    - { host: hooks.example, port: 443, for: notifications.webhook.url }
steward:
  targets:
    - { name: old, driver: systemd, address: old.lan, units: [web.service] }
";

    fn new() -> New {
        New {
            name: "box-1".to_owned(),
            address: "box-1.lan".to_owned(),
            port: 2222,
            units: vec!["web.service".to_owned()],
            endpoint: Some("http://box-1.lan/health".to_owned()),
        }
    }

    fn put() -> Edit {
        Edit::Put(new())
    }

    fn guard() -> Edit {
        Edit::Guard { windows: "/var/lib/w".into(), hearts: "/run/t".into() }
    }

    /// What is asked for with this text in mind, and refused.
    #[track_caller]
    fn refused(edit: &Edit, before: &str, after: &str, why: Refused) {
        assert_eq!(edit.is_all(before, after), Err(why), "{after}");
    }

    #[test]
    fn a_change_alone_is_written_and_taken_back_byte_by_byte() {
        for before in [ROOTS, "version: 1\n", "version: 1\n# no end"] {
            let (with, inserted) = put().applied(before).unwrap();
            assert_eq!(put().is_all(before, &with), Ok(()));
            let inserted = inserted.unwrap();
            let out = Edit::TakeOut { name: "box-1".to_owned(), inserted };
            assert_eq!(out.is_all(&with, before), Ok(()), "{with}");
            let (guarded, inserted) = guard().applied(&with).unwrap();
            assert_eq!(guard().is_all(&with, &guarded), Ok(()));
            let out = Edit::Unguard { inserted: inserted.unwrap() };
            assert_eq!(out.is_all(&guarded, &with), Ok(()), "{guarded}");
        }
        // Once is enough.
        let (with, _) = put().applied(ROOTS).unwrap();
        assert_eq!(put().applied(&with), None);
        let (guarded, _) = guard().applied(ROOTS).unwrap();
        assert_eq!(guard().applied(&guarded), None);
    }

    #[test]
    fn what_rides_along_is_refused() {
        let (good, _) = put().applied(ROOTS).unwrap();
        let evil = "    - { host: evil.example, port: 443, for: me }\n";
        let riders = [
            good.replace("  also:\n", &format!("  also:\n{evil}")),
            good.replace("allow_hosts: [hooks.example]", "allow_hosts: [hooks.example, evil.example]"),
            good.replace("secret: w", "secret: other"),
            format!(
                "{good}    - {{ name: evil, driver: systemd, address: evil.example, units: [web.service] }}\n"
            ),
            good.replace("old.lan", "evil.example"),
            good.replace("box-1.lan, port", "evil.example, port"),
            good.replace("http://box-1.lan/health", "http://evil.example/health"),
            good.replace("port: 2222", "port: 443"),
            good.replace("notifications:\n", "health: { allow_remote: true }\nnotifications:\n"),
            good.replace("- { name: old,", "- { name: older,"),
            ROOTS.to_owned(),
        ];
        for after in &riders {
            assert_ne!(*after, good);
            refused(&put(), ROOTS, after, Refused::Rider);
        }
        let (good, _) = guard().applied(ROOTS).unwrap();
        refused(&guard(), ROOTS, &good.replace("/run/t", "/tmp"), Refused::Rider);
        refused(&guard(), ROOTS, &format!("{good}shutdown: {{ grace_seconds: 9 }}\n"), Refused::Rider);
    }

    #[test]
    fn tricks_of_the_format_are_refused() {
        let (good, _) = put().applied(ROOTS).unwrap();
        let broken = [
            // A key twice: one reader takes the first, another the last.
            format!("{good}egress: {{ also: [] }}\n"),
            good.replace(
                "for: notifications.webhook.url",
                "for: notifications.webhook.url, host: evil.example",
            ),
            good.replace("  also:\n", "  also: &a\n"),
            format!(
                "{good}---\nversion: 1\negress: {{ also: [{{ host: evil.example, port: 443, for: me }}] }}\n"
            ),
            good.replace("steward:\n", "<<: { egress: {} }\nsteward:\n"),
            good.replace("version: 1\n", "version: 1\n\u{0}"),
        ];
        for after in &broken {
            refused(&put(), ROOTS, after, Refused::Broken);
        }
        // They mean the same, and are not what the change makes of it.
        let others = [
            good.replace('\n', "\r\n"),
            good.replace(
                "# egress: nothing of this is a key",
                "# egress: who reads this takes it for root's word",
            ),
            format!("{good}# trailing\n"),
            good.trim_end().to_owned(),
            good.replace("    - { name: old", "    # put in by whoever\n    - { name: old"),
        ];
        for after in &others {
            refused(&put(), ROOTS, after, Refused::OtherText);
        }
        // Nor is anything built upon what cannot be read.
        let twice = format!("{ROOTS}steward: {{}}\n");
        refused(&put(), &twice, &good, Refused::Unreadable);
        assert_eq!(put().applied(&twice), None);
    }

    #[test]
    fn a_file_with_another_kind_of_lines_or_with_comments_like_keys_is_changed_where_it_means_that() {
        let lines = ROOTS.replace('\n', "\r\n");
        let commented = format!("# steward:\n#   targets:\n{ROOTS}# steward:\n");
        for before in [&lines, &commented] {
            let (with, _) = put().applied(before).unwrap();
            assert_eq!(put().is_all(before, &with), Ok(()), "{with}");
            assert_eq!(meaning(&with).unwrap().steward.targets.len(), 2);
        }
    }

    #[test]
    fn words_of_a_target_stay_words() {
        let hostile = [
            "x }\negress: { also: [{ host: evil.example, port: 443, for: me }] }\n#",
            "x, address: evil.example",
            "x\u{85}egress:",
            "x\u{2028}  also:",
            "*a",
            "&a b",
            "!!str x",
            "# x",
        ];
        for word in hostile {
            for new in [
                New { name: word.to_owned(), ..new() },
                New { address: word.to_owned(), ..new() },
                New { units: vec![word.to_owned()], ..new() },
                New { endpoint: Some(word.to_owned()), ..new() },
            ] {
                // Refused by the reader of configurations, or a word like any other.
                if let Some((after, _)) = Edit::Put(new).applied(ROOTS) {
                    assert_eq!(meaning(&after).unwrap().egress, meaning(ROOTS).unwrap().egress, "{after}");
                    assert_eq!(meaning(&after).unwrap().steward.targets.len(), 2, "{after}");
                }
            }
        }
    }

    #[test]
    fn what_was_put_in_is_taken_out_and_nothing_that_somebody_remembers_otherwise() {
        let out = |name: &str, text: &str| Edit::TakeOut {
            name: name.to_owned(),
            inserted: Inserted { text: text.to_owned(), made_file: false },
        };
        let old = "    - { name: old, driver: systemd, address: old.lan, units: [web.service] }\n";
        let both = format!("{ROOTS}    - {{ name: other, driver: sim }}\n");
        assert_eq!(out("old", old).applied(&both), Some((both.replace(old, ""), None)));
        for (name, text) in [
            // Another's line, others with it, a part of it, a comment, the rest of the file.
            ("box-1", old),
            ("old", "    - { host: hooks.example, port: 443, for: notifications.webhook.url }\n"),
            ("old", "# egress: nothing of this is a key\n"),
            ("old", "old"),
            (
                "old",
                "egress:\n  also:\n    - { host: hooks.example, port: 443, for: notifications.webhook.url }\n",
            ),
            ("old", ROOTS),
            ("old", ""),
            ("old", "    - { name: other, driver: sim }\n"),
        ] {
            assert_eq!(out(name, text).applied(&both), None, "{text}");
        }
        let unguard =
            |text: &str| Edit::Unguard { inserted: Inserted { text: text.to_owned(), made_file: false } };
        let (guarded, inserted) = guard().applied(ROOTS).unwrap();
        assert!(unguard(&inserted.unwrap().text).applied(&guarded).is_some());
        for text in ["egress:\n", old, "tripwire:\n", ROOTS] {
            assert_eq!(unguard(text).applied(&guarded), None, "{text}");
        }
    }
}
