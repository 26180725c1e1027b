//! The edge: what a terminal is sent, and that it is left as it was found.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::io::{self, Write};
use std::time::Duration;

use holdfast_demo::{Director, Ended, Heard, Look, Terminal, frame, play};
use holdfast_plot::{Glyphs, Size};

const PLAIN: Look = Look { colour: false, glyphs: Glyphs::Unicode, fast: false, json: false };
const OPENED: &str = "\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l";
const CLOSED: &str = "\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l";

/// A terminal that remembers, and whose reader leaves at a certain wait.
#[derive(Default)]
struct Paper {
    written: Vec<u8>,
    size: Option<Size>,
    /// Another size, from this wait on.
    resized: Option<(usize, Size)>,
    leaves_at: Option<usize>,
    /// The pipe breaks after so many bytes.
    breaks_after: Option<usize>,
    waits: usize,
    waited: Duration,
}

impl Paper {
    fn screen(width: usize, height: usize) -> Paper {
        Paper { size: Some(Size { width, height }), ..Paper::default() }
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.written).unwrap()
    }
}

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.breaks_after.is_some_and(|most| self.written.len() >= most) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.written.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Terminal for Paper {
    fn size(&mut self) -> Option<Size> {
        let resized = self.resized.filter(|(from, _)| self.waits >= *from).map(|(_, size)| size);
        resized.or(self.size)
    }

    fn wait(&mut self, span: Duration) -> Heard {
        self.waits += 1;
        self.waited += span;
        if self.leaves_at == Some(self.waits) { Heard::Interrupted } else { Heard::Nothing }
    }
}

#[test]
fn piped_it_is_plain_lines_in_order() {
    let mut paper = Paper::default();
    assert_eq!(play(&mut paper, PLAIN).unwrap(), Ended::Whole);
    assert!(!paper.text().contains('\u{1b}'), "nothing moves the cursor");
    assert_eq!(paper.waited, Duration::ZERO, "nobody looks, so nobody waits");
    assert!(paper.text().lines().all(|line| line.chars().count() <= 80));
    assert!(paper.text().contains("careless brain, scripted"), "what is scripted is said to be");
    assert!(paper.text().contains("time accelerated"), "and so is the pace");
    insta::assert_snapshot!(paper.text());
}

#[test]
fn a_screen_that_is_too_small_gets_plain_lines() {
    let mut paper = Paper::screen(59, 24);
    play(&mut paper, PLAIN).unwrap();
    assert!(!paper.text().contains('\u{1b}'));
    assert!(paper.text().lines().all(|line| line.chars().count() <= 59));
}

#[test]
fn fast_does_not_wait() {
    let mut paper = Paper::screen(80, 24);
    play(&mut paper, Look { fast: true, ..PLAIN }).unwrap();
    assert_eq!(paper.waited, Duration::ZERO);
    assert!(paper.text().contains("What you saw"));
}

#[test]
fn json_is_one_document_and_nothing_else() {
    let mut paper = Paper::screen(80, 24);
    play(&mut paper, Look { json: true, ..PLAIN }).unwrap();
    let document: serde_json::Value = serde_json::from_str(paper.text()).unwrap();
    assert_eq!(document["demo"], 1);
}

#[test]
fn played_to_its_end_the_screen_is_closed_and_the_summary_stays() {
    let mut paper = Paper::screen(80, 24);
    assert_eq!(play(&mut paper, PLAIN).unwrap(), Ended::Whole);
    assert!(paper.text().starts_with(OPENED));
    let (_, after) = paper.text().rsplit_once(CLOSED).unwrap();
    assert!(after.contains("What you saw") && after.contains("holdfast init"));
    assert!(paper.waited < Duration::from_secs(60));
}

#[test]
fn left_at_every_beat_the_terminal_is_clean() {
    let mut director = Director::new().unwrap();
    let mut beginnings = vec![1];
    let (mut place, mut tick) = (director.place(), 1);
    while director.tick().unwrap() {
        tick += 1;
        if director.place() != place {
            place = director.place();
            beginnings.push(tick);
        }
    }
    assert!(beginnings.len() > 20);
    for leaves_at in beginnings {
        let mut paper = Paper { leaves_at: Some(leaves_at), ..Paper::screen(80, 24) };
        let ended = play(&mut paper, PLAIN).unwrap();
        assert_eq!(ended.exit_code(), 130);
        let (_, after) = paper.text().rsplit_once(CLOSED).unwrap();
        assert_eq!(after, "Stopped. Nothing is left behind: all of it was in memory.\n");
    }
}

#[test]
fn left_while_piped_it_says_one_line() {
    let mut paper = Paper { leaves_at: Some(3), ..Paper::default() };
    assert_eq!(play(&mut paper, PLAIN).unwrap(), Ended::Interrupted);
    assert_eq!(paper.text(), "Stopped. Nothing is left behind: all of it was in memory.\n");
}

#[test]
fn a_resized_screen_is_painted_anew() {
    let larger = Size { width: 120, height: 40 };
    let mut paper = Paper { resized: Some((40, larger)), leaves_at: Some(60), ..Paper::screen(80, 24) };
    play(&mut paper, PLAIN).unwrap();
    assert_eq!(paper.text().matches("\u{1b}[2J").count(), 2);
    assert!(paper.text().contains("\u{1b}[40;1H"));
}

#[test]
fn made_too_small_on_the_way_nothing_fails() {
    for (width, height) in [(1, 1), (20, 5), (59, 15), (0, 0)] {
        let small = Size { width, height };
        let mut paper = Paper { resized: Some((10, small)), leaves_at: Some(300), ..Paper::screen(80, 24) };
        assert_eq!(play(&mut paper, PLAIN).unwrap(), Ended::Interrupted);
    }
}

/// What such a terminal shows after these bytes: it knows how to go to a line, to clear, and to write.
fn screen_of(written: &str, height: usize) -> String {
    let mut rows = vec![String::new(); height];
    let mut row = 0;
    for piece in written.split('\u{1b}').skip(1) {
        let (command, text) = piece.split_at(piece.find(|c: char| c.is_ascii_alphabetic()).unwrap() + 1);
        match command {
            "[2J" => rows.iter_mut().for_each(String::clear),
            // What was further right on the line stays until it is cleared.
            "[K" => {
                let kept = rows[row].split('\u{0}').next().unwrap().to_owned();
                rows[row] = kept;
            }
            go if go.ends_with('H') => {
                row = go[1..].split(';').next().unwrap().parse::<usize>().unwrap() - 1;
                let over: String =
                    rows[row].chars().filter(|c| *c != '\u{0}').skip(text.chars().count()).collect();
                rows[row] = format!("{text}\u{0}{over}");
            }
            _ => {}
        }
    }
    rows.iter().map(|row| row.replace('\u{0}', "").trim_end().to_owned() + "\n").collect()
}

#[test]
fn nothing_of_an_earlier_frame_stays() {
    for leaves_at in [2, 100, 200, 300, 400, 600, 900] {
        let mut paper = Paper { leaves_at: Some(leaves_at), ..Paper::screen(80, 24) };
        play(&mut paper, PLAIN).unwrap();
        let (painted, _) = paper.text().rsplit_once("\u{1b}[?2026l\u{1b}[?7h").unwrap();
        let mut director = Director::new().unwrap();
        for _ in 1..leaves_at {
            director.tick().unwrap();
        }
        let lines = frame(&director.scene().unwrap(), Size { width: 80, height: 24 }, Glyphs::Unicode);
        let expected: String = lines.iter().map(|line| line.plain() + "\n").collect();
        assert_eq!(screen_of(painted, 24), expected, "after {leaves_at} waits");
    }
}

#[test]
fn only_lines_that_changed_are_painted() {
    let mut paper = Paper { leaves_at: Some(20), ..Paper::screen(80, 24) };
    play(&mut paper, PLAIN).unwrap();
    let title = paper.text().matches("holdfast demo").count();
    assert_eq!(title, 1, "what stands still is painted once");
}

#[test]
fn a_reader_that_leaves_ends_it() {
    for size in [None, Some(Size { width: 80, height: 24 })] {
        let mut paper = Paper { breaks_after: Some(200), size, ..Paper::default() };
        assert_eq!(play(&mut paper, PLAIN).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}

#[test]
fn colour_is_only_added() {
    let mut plain = Paper::default();
    play(&mut plain, PLAIN).unwrap();
    let mut coloured = Paper::default();
    play(&mut coloured, Look { colour: true, ..PLAIN }).unwrap();
    let mut stripped = String::new();
    let mut rest = coloured.text();
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        stripped.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    stripped.push_str(rest);
    let trimmed: String = stripped.lines().map(|line| line.trim_end().to_owned() + "\n").collect();
    assert_eq!(trimmed, plain.text());
}

#[test]
fn in_ascii_there_is_nothing_else() {
    let mut paper = Paper::screen(80, 24);
    play(&mut paper, Look { glyphs: Glyphs::Ascii, ..PLAIN }).unwrap();
    assert!(paper.text().is_ascii());
}
