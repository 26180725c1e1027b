//! The sentences, as they are read.

use super::*;

fn finding(kind: Kind, direction: Option<Direction>) -> Finding {
    let (at, began) = (Steady(200_000), Steady(100_000));
    Finding { kind, direction, at, began, before: 2.0, now: 31.0, sure: 0.995, surprise: 20.0 }
}

fn check(kind: Kind, direction: Option<Direction>, wanted: &str) {
    let told = sentence(
        &finding(kind, direction),
        "Memory pressure on web-1",
        |figure| format!("{figure:.0} %"),
        |_| "03:14".to_owned(),
    );
    assert_eq!(told, wanted);
}

#[test]
fn a_finding_is_told_in_one_sentence() {
    let (up, down) = (Some(Direction::Up), Some(Direction::Down));
    check(
        Kind::Shift,
        up,
        "Memory pressure on web-1 rose from 2 % to 31 % at 03:14 and stayed (almost certain).",
    );
    check(
        Kind::Shift,
        down,
        "Memory pressure on web-1 fell from 2 % to 31 % at 03:14 and stayed (almost certain).",
    );
    check(
        Kind::Spike,
        up,
        "Memory pressure on web-1 jumped from 2 % to 31 % at 03:14, once, and came back (almost certain).",
    );
    check(
        Kind::Drift,
        up,
        "Memory pressure on web-1 has been rising since 03:14, from 2 % to 31 % so far (almost certain).",
    );
    check(
        Kind::Spread,
        up,
        "Memory pressure on web-1 has scattered more since 03:14, by 31 % where 2 % was usual (almost certain).",
    );
    check(
        Kind::Cycle,
        None,
        "Memory pressure on web-1 has left its daily round since 03:14, by 31 % where 2 % was usual (almost certain).",
    );
    check(Kind::Missing, None, "Memory pressure on web-1 has not been reported since 03:14; 2 % was usual.");
}

#[test]
fn less_certain_is_said_in_other_words() {
    let words: Vec<&str> = [0.3, 0.75, 0.95, 0.999].into_iter().map(how_sure).collect();
    assert_eq!(words, ["may be chance", "likely", "very likely", "almost certain"]);
}
