//! Drawings as they come out, and what holds of every one of them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::time::Duration;

use holdfast_plot::{
    Band, Figure, Gate, GateState, Glyphs, Ink, Lease, Line, Mark, Moment, Pixels, Point, Probe, Score,
    Series, Size, State, Threshold, figure_lines, figure_svg, gate_strip, gates_svg, lease_bar, lease_svg,
    score_cells, score_svg, sparkline, sparkline_svg,
};
use proptest::prelude::*;

/// Half an hour of pressure that shifts, with a gap where nobody looked.
fn shifted() -> Figure {
    let value = |n: i64| {
        let restless = f64::from(u8::try_from(n * 37 % 11).unwrap()) / 3.0;
        let level = if n >= 30 { 22.0 } else { 4.0 };
        (!(40..46).contains(&n)).then_some(level + restless)
    };
    let points = (0..60).map(|n| Point { at_ms: n * 30_000, value: value(n) }).collect();
    let moment = |at: i64, state: State| Moment { at_ms: at * 30_000, state, word: state.word().to_owned() };
    Figure {
        title: "Memory pressure on web-1".to_owned(),
        sentence: Some("Memory pressure on web-1 rose from 6 % to 24 % at 03:15 and stayed.".to_owned()),
        series: vec![Series { name: "memory pressure".to_owned(), points, gap_after_ms: Some(45_000) }],
        band: Some(Band { low: 2.0, high: 10.0 }),
        began: Some(Mark { at_ms: 30 * 30_000, word: "began".to_owned() }),
        moments: vec![moment(34, State::OnTrial), moment(54, State::Undone)],
        threshold: Some(Threshold { value: 16.0, word: "from here on it counts".to_owned() }),
        unit: "%".to_owned(),
        ..Figure::default()
    }
}

fn text(lines: &[Line]) -> String {
    lines.iter().map(|line| line.plain() + "\n").collect()
}

#[test]
fn a_figure_in_cells() {
    for (width, height) in [(40, 8), (80, 12), (120, 20)] {
        let lines = figure_lines(&shifted(), Size { width, height }, Glyphs::Unicode);
        insta::assert_snapshot!(format!("figure_{width}x{height}"), text(&lines));
    }
}

#[test]
fn a_figure_in_ascii() {
    let lines = figure_lines(&shifted(), Size { width: 80, height: 12 }, Glyphs::Ascii);
    insta::assert_snapshot!(text(&lines));
}

#[test]
fn a_figure_in_colour() {
    let lines = figure_lines(&shifted(), Size { width: 60, height: 8 }, Glyphs::Unicode);
    let painted: String = lines.iter().map(|line| line.painted() + "\n").collect();
    insta::assert_snapshot!(painted.replace('\u{1b}', "^"));
}

#[test]
fn a_figure_as_svg() {
    insta::assert_snapshot!(figure_svg(&shifted(), Pixels { width: 640, height: 280 }));
}

#[test]
fn an_empty_figure_says_so_to_those_who_do_not_see_it() {
    let svg = figure_svg(&Figure::default(), Pixels { width: 0, height: 0 });
    assert!(svg.contains("<desc>Nothing was measured.</desc>"), "{svg}");
}

#[test]
fn hostile_words_stay_words() {
    let evil = "</text><script>alert('x')</script>&\u{1b}[2J\u{0}";
    let figure = Figure {
        title: evil.to_owned(),
        sentence: Some(evil.to_owned()),
        unit: evil.to_owned(),
        moments: vec![Moment { at_ms: 0, state: State::Kept, word: evil.to_owned() }],
        ..shifted()
    };
    let svg = figure_svg(&figure, Pixels { width: 640, height: 280 });
    assert!(!svg.contains("<script") && !svg.contains('\u{1b}') && !svg.contains('\u{0}'), "{svg}");
    let lines = figure_lines(&figure, Size { width: 80, height: 12 }, Glyphs::Unicode);
    assert!(lines.iter().all(|line| !line.painted().replace("\u{1b}[", "").contains("2J\u{0}")));
    assert!(lines.iter().all(|line| !line.plain().contains('\u{1b}')));
}

fn gates(refused: bool) -> Vec<Gate> {
    let state = |n: usize| match n {
        0..=3 => GateState::Passed,
        4 if refused => GateState::Refused("sshd.service keeps the host reachable".to_owned()),
        _ => GateState::Waiting,
    };
    let names = ["schema", "parse", "type", "policy", "auditor", "properties", "whole", "build"];
    names.iter().enumerate().map(|(n, name)| Gate { name: (*name).to_owned(), state: state(n) }).collect()
}

fn score() -> Score {
    use Probe::{Fail, Grace, Inconclusive, Pass};
    let cycles = vec![Grace, Pass, Pass, Inconclusive, Pass, Fail, Pass];
    Score { cycles, planned: 20, score: 1, rule: "Two failures in a row end it.".to_owned() }
}

#[test]
fn the_smaller_pieces_in_cells() {
    let lease = Lease { left: Duration::from_secs(252), whole: Duration::from_secs(600) };
    let values: Vec<Option<f64>> = (0..24).map(|n| (n != 9).then_some(f64::from(n % 8))).collect();
    for (name, glyphs) in [("pieces_unicode", Glyphs::Unicode), ("pieces_ascii", Glyphs::Ascii)] {
        let mut lines = gate_strip(&gates(false), 72, glyphs);
        lines.extend(gate_strip(&gates(true), 40, glyphs));
        lines.push(lease_bar(&lease, 72, glyphs));
        lines.extend(score_cells(&score(), 72, glyphs));
        lines.push(sparkline(&values, 24, glyphs));
        lines.extend(State::ALL.map(|state| Line::from(state).shown_in(glyphs)));
        insta::assert_snapshot!(name, text(&lines));
    }
}

#[test]
fn the_smaller_pieces_as_svg() {
    let size = Pixels { width: 320, height: 40 };
    let lease = Lease { left: Duration::from_secs(252), whole: Duration::from_secs(600) };
    let values = [Some(1.0), Some(4.0), None, Some(2.0), Some(3.0)];
    let all = [
        gates_svg(&gates(true), size),
        lease_svg(&lease, size),
        score_svg(&score(), size),
        sparkline_svg("pressure", &values, size),
    ];
    insta::assert_snapshot!(all.concat());
}

#[test]
fn every_state_is_told_apart_without_colour() {
    let mut words: Vec<String> = State::ALL.map(|state| Line::from(state).plain()).to_vec();
    words.sort();
    words.dedup();
    assert_eq!(words.len(), State::ALL.len());
}

fn any_value() -> impl Strategy<Value = Option<f64>> {
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, 1e-310, 0.0, -0.0];
    prop_oneof![
        4 => (-1e3..1e3).prop_map(Some),
        1 => prop::sample::select(odd.to_vec()).prop_map(Some),
        1 => any::<f64>().prop_map(Some),
        1 => Just(None),
    ]
}

fn any_time() -> impl Strategy<Value = i64> {
    prop_oneof![6 => 0..10_000_000i64, 1 => any::<i64>(), 1 => prop::sample::select(vec![i64::MIN, 0, i64::MAX])]
}

fn any_word() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z ]{0,30}", any::<String>(), Just("日本語の長い題 …".to_owned())]
}

prop_compose! {
    fn any_figure()(
        points in prop::collection::vec((any_time(), any_value()), 0..80),
        title in any_word(),
        sentence in prop::option::of(any_word()),
        unit in any_word(),
        band in prop::option::of((any_value(), any_value())),
        began in prop::option::of(any_time()),
        moments in prop::collection::vec((any_time(), 0..State::ALL.len(), any_word()), 0..4),
        threshold in prop::option::of(any_value()),
        span_ms in prop::option::of((any_time(), any_time())),
        sorted in any::<bool>(),
    ) -> Figure {
        let mut points: Vec<Point> =
            points.into_iter().map(|(at_ms, value)| Point { at_ms, value }).collect();
        if sorted {
            points.sort_by_key(|point| point.at_ms);
        }
        let or_nan = |value: Option<f64>| value.unwrap_or(f64::NAN);
        Figure {
            title: title.clone(),
            sentence,
            series: vec![Series { name: title.clone(), points, gap_after_ms: Some(60_000) }],
            band: band.map(|(low, high)| Band { low: or_nan(low), high: or_nan(high) }),
            began: began.map(|at_ms| Mark { at_ms, word: title.clone() }),
            moments: moments
                .into_iter()
                .map(|(at_ms, state, word)| Moment { at_ms, state: State::ALL[state], word })
                .collect(),
            threshold: threshold.map(|value| Threshold { value: or_nan(value), word: unit.clone() }),
            unit,
            span_ms,
            least: None,
            now_ms: None,
        }
    }
}

/// What a terminal would show of painted text: the escapes that add colour taken away.
fn without_colour(painted: &str) -> String {
    let mut out = String::new();
    let mut rest = painted;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        out.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    (out + rest).trim_end().to_owned()
}

proptest! {
    #[test]
    fn every_figure_is_as_high_as_asked_and_no_wider(
        figure in any_figure(), width in 0..210usize, height in 0..60usize, ascii in any::<bool>(),
    ) {
        let glyphs = if ascii { Glyphs::Ascii } else { Glyphs::Unicode };
        let lines = figure_lines(&figure, Size { width, height }, glyphs);
        prop_assert_eq!(lines.len(), height);
        for line in &lines {
            prop_assert!(line.width() <= width, "{} > {width}: {:?}", line.width(), line.plain());
            prop_assert!(!ascii || line.painted().is_ascii(), "{:?}", line.plain());
            prop_assert_eq!(without_colour(&line.painted()), line.plain());
        }
    }

    #[test]
    fn every_picture_is_finite_and_whole(figure in any_figure(), width in 0..5000u32, height in 0..5000u32) {
        let svg = figure_svg(&figure, Pixels { width, height });
        // Numbers stand in attributes; words may well say "inf".
        for attribute in svg.split('"').skip(1).step_by(2) {
            prop_assert!(!attribute.contains("NaN") && !attribute.contains("inf"), "{attribute}");
        }
        prop_assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
        prop_assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        prop_assert!(svg.contains("role=\"img\"") && svg.contains("<title>") && svg.contains("<desc>"));
    }

    #[test]
    fn no_piece_is_wider_than_asked(
        values in prop::collection::vec(any_value(), 0..300),
        width in 0..200usize,
        left in any::<u32>(),
        whole in any::<u32>(),
        planned in 0..400usize,
        word in any_word(),
        ascii in any::<bool>(),
    ) {
        let glyphs = if ascii { Glyphs::Ascii } else { Glyphs::Unicode };
        let lease = Lease { left: Duration::from_secs(left.into()), whole: Duration::from_secs(whole.into()) };
        let score = Score { planned, rule: word.clone(), ..score() };
        let gates = [Gate { name: word.clone(), state: GateState::Refused(word) }];
        let mut lines = gate_strip(&gates, width, glyphs);
        lines.push(lease_bar(&lease, width, glyphs));
        lines.extend(score_cells(&score, width, glyphs));
        lines.push(sparkline(&values, width, glyphs));
        for line in lines {
            prop_assert!(line.width() <= width, "{} > {width}: {:?}", line.width(), line.plain());
            prop_assert!(!ascii || line.painted().is_ascii());
        }
    }

    #[test]
    fn cutting_keeps_the_width(word in any_word(), other in any_word(), width in 0..40usize) {
        let line = Line::of(Ink::Kelp, &word).with(Ink::Coral, &other);
        let whole = line.width();
        prop_assert!(line.clone().cut(width).width() <= width);
        if whole <= width {
            prop_assert_eq!(line.clone().cut(width), line);
        }
    }
}
