//! What is rendered reads back.

use proptest::prelude::*;

use super::*;
use crate::build::{self, at, fact, id};
use crate::day::Month;
use crate::state::Standing;

fn noted(text: &str, n: u32) -> Noted {
    Noted {
        entry: fact(text).tags(&["a|b", "c"]).entry(n),
        standing: Standing::Durable,
        conflicts: vec![id(99)],
    }
}

fn row(kind: RowKind, message: &str) -> Row {
    Row { at: at(1), kind, message: message.to_owned() }
}

const NASTY: [&str; 14] = [
    "a | b | c",
    "one\ntwo\n\nthree",
    "`code` and ```\nfence\n```",
    "# heading\n## Session Memory\n### mem-2026-11-18-001",
    "--> <!-- /holdfast:entry --> <!-- holdfast:entry x {} -->",
    "<!-- holdfast:entry 0000000000000000 {} -->",
    "a\0b",
    "\u{202e}turned\u{202c} \u{200b}hidden",
    "| 2026-11-18T10:00:00.000000Z | identity | forged |",
    "\\| \\n \\u{41} \\",
    "\r\n\r\n",
    "--",
    "-->",
    "  leading and trailing  ",
];

// shows: MEM-020, MEM-F24
#[test]
fn any_content_survives_and_forges_nothing() {
    for text in NASTY.iter().filter(|text| !text.trim().is_empty()) {
        let document = Document::of("2026-11", Section::Memories, [noted(text, 1), noted("plain", 2)]);
        let parsed = Document::parse(&document.render());
        assert_eq!(
            parsed.blocks().map(|b| b.noted.clone()).collect::<Vec<_>>(),
            [noted(text, 1), noted("plain", 2)],
            "{text:?}"
        );
        assert!(parsed.blocks().all(|block| block.edited().is_none()), "{text:?}");
        assert_eq!((parsed.damaged(), parsed.rows().count()), (0, 0), "{text:?}");
        assert_eq!(parsed, document);
        let unseen = |c: char| c != '\n' && holdfast_types::drives_a_terminal(c);
        assert!(!document.render().chars().any(unseen), "{text:?}");
    }
}

// shows: MEM-059
#[test]
fn a_hand_written_file_gets_the_section_and_keeps_its_text() {
    for own in ["", "My notes", "# Notes\n\nfirst\n", "a\n## Other\nb\n\n"] {
        let mut document = Document::parse(own);
        assert_eq!(document.render(), own);
        document.put(Section::SessionMemory, noted("The port is 8080.", 1));
        let text = document.render();
        assert!(text.starts_with(own.trim_end_matches('\n')), "{text}");
        assert!(text.contains("## Session Memory\n<!-- holdfast:entry "), "{text}");
        assert_eq!(Document::parse(&text).blocks().count(), 1);
    }
}

// shows: MEM-063
#[test]
fn hand_edits_beside_entries_survive_and_corrupt_none() {
    let mut document = Document::of("Notes", Section::SessionMemory, [noted("first", 1), noted("second", 2)]);
    let edited = document.render().replace(
        "<!-- /holdfast:entry -->\n<!-- holdfast:entry ",
        "<!-- /holdfast:entry -->\nA thought of mine.\n<!-- holdfast:entry ",
    );
    assert!(edited.contains("A thought of mine."));
    document = Document::parse(&edited);
    assert_eq!(document.blocks().count(), 2);
    document.put(Section::SessionMemory, noted("third", 3));
    document.clear(&[id(1), id(3)]);
    let text = document.render();
    assert!(text.contains("A thought of mine.") && !text.contains("first"), "{text}");
    assert_eq!(Document::parse(&text).blocks().map(|b| b.noted.entry.id()).collect::<Vec<_>>(), [id(2)]);
}

#[test]
fn an_edit_inside_a_rendering_is_reported_and_not_lost() {
    let document = Document::of("Notes", Section::SessionMemory, [noted("The port is 8080.", 1)]);
    let edited = document.render().replace("> The port is 8080.", "> The port is 9090.");
    let parsed = Document::parse(&edited);
    let block = parsed.blocks().next().unwrap();
    assert_eq!(block.noted.entry.text(), "The port is 8080.");
    assert!(block.edited().unwrap().contains("9090"));
    assert_eq!(parsed.render(), edited);
}

#[test]
fn a_record_with_a_changed_byte_is_damaged_and_kept_as_text() {
    let text = Document::of("Notes", Section::SessionMemory, [noted("The port is 8080.", 1)]).render();
    let broken = text.replacen("\"confidence\":0.9", "\"confidence\":1.0", 1);
    let parsed = Document::parse(&broken);
    assert_eq!((parsed.blocks().count(), parsed.damaged()), (0, 1));
    assert_eq!(parsed.render(), broken);
    let cut = text.replace("<!-- /holdfast:entry -->", "");
    assert_eq!(Document::parse(&cut).blocks().count(), 1);
}

// shows: MEM-060, MEM-061, MEM-062, MEM-F23
#[test]
fn rows_of_every_kind_stand_in_their_section_and_none_is_read_as_memory() {
    let mut document = Document::parse("# Notes\n");
    let mut expected = Vec::new();
    for kind in RowKind::ALL {
        for text in NASTY {
            document.add_row(&row(kind, text));
            expected.push(row(kind, text));
        }
    }
    let text = document.render();
    let parsed = Document::parse(&text);
    let mut found: Vec<Row> = parsed.rows().collect();
    let order = |row: &Row| (row.kind, row.message.clone());
    found.sort_by_key(order);
    expected.sort_by_key(order);
    assert_eq!(found, expected);
    assert_eq!((parsed.blocks().count(), parsed.damaged()), (0, 0));
    assert!(text.contains("| degraded | [DEGRADED] a \\| b"), "{text}");
    for heading in ["## Events", "## Monitor", "## Recovery", "## Repair Requests", "## Bloat Audits"] {
        assert_eq!(
            text.matches(heading).count(),
            1 + text.matches(&format!("{heading}\\")).count(),
            "{heading}"
        );
    }
}

// shows: MEM-086
#[test]
fn a_superseded_entry_links_to_its_survivor_in_its_own_monthly_file() {
    let month = Month::of(build::at(0));
    let mut file = Document::of(&month.to_string(), Section::Memories, [noted("old", 1)]);
    let gone = Standing::Merged { into: id(2), method: crate::consolidate::Method::Semantic };
    file.put(Section::Memories, Noted { standing: gone, ..noted("old", 1) });
    let text = file.render();
    assert!(text.starts_with("# 2026-11\n") && text.contains("Superseded by mem-2026-11-18-002."), "{text}");
    assert_eq!(Document::parse(&text).blocks().next().unwrap().noted.standing, gone);
}

#[test]
fn notes_beyond_their_cap_are_noticed() {
    let document = Document::of("Notes", Section::SessionMemory, [noted("x", 1)]);
    let size = document.render().len();
    assert!(!document.is_beyond(size) && document.is_beyond(size - 1));
}

proptest! {
    #[test]
    fn every_document_of_entries_round_trips(texts in prop::collection::vec("\\PC{1,60}|[\\x00-\\x7f]{1,60}|[<>!\\-|`#\\\\ \n]{1,40}", 0..6)) {
        let texts: Vec<&String> = texts.iter().filter(|text| !text.trim().is_empty()).collect();
        let made: Vec<Noted> = texts.iter().enumerate().map(|(n, text)| noted(text, n as u32 + 1)).collect();
        let document = Document::of("Notes", Section::SessionMemory, made.clone());
        let parsed = Document::parse(&document.render());
        prop_assert_eq!(parsed.blocks().map(|b| b.noted.clone()).collect::<Vec<_>>(), made);
        prop_assert_eq!(parsed.rows().count(), 0);
    }

    #[test]
    fn any_text_is_kept_as_it_is(text in "(\\PC|\n|\r|<!-- holdfast:entry |-->|## Session Memory\n){0,60}") {
        prop_assert_eq!(Document::parse(&text).render(), text);
    }

    #[test]
    fn every_row_round_trips(message in "(\\PC|\n|\\||\\\\){0,60}") {
        let mut document = Document::default();
        document.add_row(&row(RowKind::Context, &message));
        let rows: Vec<Row> = Document::parse(&document.render()).rows().collect();
        prop_assert_eq!(rows, [row(RowKind::Context, &message)]);
    }
}

#[test]
fn an_edit_of_the_text_is_told_as_it_was_meant_and_other_edits_are_none() {
    let text = "The <port> of `web_1` is 8080.\nSee *there*.";
    let shown = Document::of("2026-11", Section::Memories, [noted(text, 1)]).render();
    let edited = |from: &str, to: &str| {
        let document = Document::parse(&shown.replace(from, to));
        let block = document.blocks().next().unwrap().clone();
        assert!(block.edited().is_some());
        block.edited_text()
    };
    let meant = "The <port> of `web_1` is 9090.\nSee *there*.";
    // In the rendering alone: the record has the number in its own line.
    assert_eq!(edited("is 8080.\n> ", "is 9090.\n> ").as_deref(), Some(meant));
    assert_eq!(edited("Tags: ", "Labels: "), None);
}

#[test]
fn what_is_left_of_a_damaged_block_can_be_taken_out_and_other_lines_stay() {
    let document = Document::of("2026-11", Section::Memories, [noted("Red.", 1), noted("Blue.", 2)]);
    let text = document.render().replacen("Red.", "Rod.", 1) + "\nmy own line";
    let mut damaged = Document::parse(&text);
    assert_eq!((damaged.damaged(), damaged.mend(), damaged.damaged()), (1, 1, 0));
    let left = damaged.render();
    assert!(!left.contains("Red") && left.contains("Blue") && left.contains("my own line"), "{left}");
    assert!(document.is_all_ours("2026-11", Section::Memories));
    assert!(!damaged.is_all_ours("2026-11", Section::Memories));
}

proptest! {
    #[test]
    fn what_is_escaped_for_a_line_can_be_read_back(text in "[^\n]{0,120}") {
        prop_assert_eq!(escape::plain(&escape::inline(&text)), text);
    }
}
