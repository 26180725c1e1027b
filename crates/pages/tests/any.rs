//! Any text and any figure in a view: what comes out is markup of ours and nothing else.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod markup;
mod samples;

use holdfast_pages::*;
use markup::{Tag, balanced, tags};
use proptest::prelude::*;

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z<>\"'&=/ ]{0,60}",
        any::<String>(),
        "\\PC{0,400}",
        Just("-->".to_owned()),
        Just("</script>".to_owned())
    ]
}

fn any_value() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![3 => (0.0..100.0).prop_map(Some), 1 => any::<f64>().prop_map(Some), 1 => Just(None)]
}

fn figure_of(title: &str, values: &[Option<f64>], at: &[i64]) -> Figure {
    let points = values.iter().zip(at).map(|(value, at_ms)| Point { at_ms: *at_ms, value: *value }).collect();
    Figure {
        title: title.into(),
        sentence: Some(title.into()),
        series: vec![Series { name: title.into(), points, gap_after_ms: Some(60_000) }],
        began: at.first().map(|at_ms| Mark { at_ms: *at_ms, word: title.into() }),
        moments: at
            .iter()
            .map(|at_ms| Moment { at_ms: *at_ms, state: State::Failed, word: title.into() })
            .collect(),
        unit: title.into(),
        ..Figure::default()
    }
}

/// The names of all tags and attributes: what a page is, whatever it says.
fn shape(tags: &[Tag]) -> Vec<String> {
    let names = |tag: &Tag| tag.attributes.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>().join(" ");
    tags.iter().map(|tag| format!("{} {}", tag.name, names(tag))).collect()
}

fn ask_saying(text: &str) -> Ask {
    let view = samples::ask_view();
    let line = AskLine {
        subject: text.into(),
        target: text.into(),
        actor: text.into(),
        summary: text.into(),
        ..view.line.clone()
    };
    Ask { line, summary: vec![text.into()], evidence: vec![text.into()], origin: text.into(), ..view }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_page_has_the_same_shape_whatever_its_texts_say(text in any_text()) {
        let frame = samples::frame(Place::Inbox);
        let said = ask(&frame, &ask_saying(&text));
        let tags = tags(&said).map_err(TestCaseError::fail)?;
        balanced(&tags).map_err(TestCaseError::fail)?;
        // An id that looks like an agent's is shown shorter, and that is the only difference there may be.
        prop_assume!(!text.starts_with("agt_"));
        let plain = ask(&frame, &ask_saying("plain"));
        prop_assert_eq!(shape(&tags), shape(&markup::tags(&plain).unwrap()));
    }

    #[test]
    fn every_plot_in_a_page_is_finite_and_whole(
        title in any_text(),
        values in prop::collection::vec(any_value(), 0..60),
        at in prop::collection::vec(prop_oneof![6 => 0..10_000_000i64, 1 => any::<i64>()], 0..60),
        left in any::<u64>(),
        speed in any::<u32>(),
    ) {
        let lease = Countdown { left_seconds: left, whole_seconds: Some(left / 2), as_of: samples::now(), speed };
        let open = Trial { lease: Some(lease), ..samples::a_trial() };
        let view = Host { figures: vec![figure_of(&title, &values, &at)], open: Some(open), ..samples::host_view() };
        let page = host(&samples::frame(Place::Hosts), &view);
        let tags = tags(&page).map_err(TestCaseError::fail)?;
        balanced(&tags).map_err(TestCaseError::fail)?;
        for tag in &tags {
            for name in ["d", "x", "y", "width", "height", "viewBox", "data-ends"] {
                let value = tag.get(name).unwrap_or_default();
                prop_assert!(!value.contains("NaN") && !value.contains("inf"), "{name}={value}");
            }
        }
    }
}
