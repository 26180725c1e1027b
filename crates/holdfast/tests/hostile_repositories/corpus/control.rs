//! Shows that a plant works: somebody who uses git there as everybody does steps into it.

use std::path::Path;
use std::process::Command;

use crate::corpus::catalogue::{Control, Hostile};
use crate::corpus::kit::Kit;
use crate::watched::gits;

/// How the plant shows itself; it stops the test where no git of this machine does what it should.
pub fn check(hostile: &Hostile) -> String {
    let mut tried = Vec::new();
    for git in gits() {
        let kit = Kit::new();
        (hostile.plant)(&kit);
        kit.clear_marks();
        let (works, said) = does(&hostile.control, &kit, &git);
        match (works, &hostile.control) {
            (Ok(told), Control::Cannot(..)) => tried.push(format!("{} {told}", git.display())),
            (Ok(told), _) => return told,
            (Err(why), _) => tried.push(format!("{}: {why}: {said}", git.display())),
        }
    }
    match hostile.control {
        Control::Cannot(_, why) if tried.iter().all(|it| it.ends_with("springs nothing")) => {
            format!("cannot spring: {why}")
        }
        Control::SpringsSince(minor, ..) if gits().iter().all(|git| minor_of(git) < minor) => {
            format!("not tried: each git of this machine is older than 2.{minor}")
        }
        _ => panic!("the plant does not work: {}: {tried:#?}", hostile.name),
    }
}

fn does(control: &Control, kit: &Kit, git: &Path) -> (Result<String, String>, String) {
    let because = |works: bool, told: String, why: &str| if works { Ok(told) } else { Err(why.to_owned()) };
    let (args, said) = match control {
        Control::AtATerminal(args, _) => (args, kit.careless_at_a_terminal(git, args)),
        Control::Springs(args, _)
        | Control::SpringsSince(_, args, _)
        | Control::Shows(args, _)
        | Control::Hides(args, _)
        | Control::Fails(args, _)
        | Control::Cannot(args, _) => (args, kit.careless(git, args)),
    };
    let (verb, marks) = (args.join(" "), kit.marks());
    let works = match control {
        Control::Springs(_, mark) | Control::SpringsSince(_, _, mark) | Control::AtATerminal(_, mark) => {
            because(
                marks.iter().any(|it| it == mark),
                format!("git {verb} springs it"),
                &format!("only {marks:?} sprang"),
            )
        }
        Control::Shows(_, text) => {
            because(said.contains(text), format!("git {verb} shows it"), "it is not shown")
        }
        Control::Hides(_, text) => because(
            !said.contains(text) && !said.contains("fatal"),
            format!("git {verb} does not show it"),
            "it is shown",
        ),
        Control::Fails(_, text) => {
            because(said.contains(text), format!("git {verb} fails"), "it does not fail so")
        }
        Control::Cannot(..) => {
            because(marks.is_empty(), "springs nothing".to_owned(), &format!("{marks:?} sprang"))
        }
    };
    (works, said)
}

/// 47 of `git version 2.47.3`.
fn minor_of(git: &Path) -> u32 {
    let said = Command::new(git).arg("version").output().unwrap().stdout;
    let said = String::from_utf8(said).unwrap();
    said.trim()
        .strip_prefix("git version 2.")
        .and_then(|it| it.split('.').next()?.parse().ok())
        .unwrap_or(u32::MAX)
}
