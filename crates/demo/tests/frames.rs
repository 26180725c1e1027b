//! Frames as they are shown: at several beats, in two sizes, with and without colour.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::time::Duration;

use holdfast_demo::{Director, Scene, TICK, fits, frame};
use holdfast_plot::{Glyphs, Line, Size};

const SMALL: Size = Size { width: 80, height: 24 };
const LARGE: Size = Size { width: 120, height: 40 };

/// The scenes in the middle of every beat, with the act and the beat.
fn scenes() -> Vec<((usize, usize), Scene)> {
    let mut director = Director::new().unwrap();
    let mut beats: Vec<((usize, usize), Vec<Scene>)> = Vec::new();
    loop {
        let place = director.place();
        if beats.last().is_none_or(|(last, _)| *last != place) {
            beats.push((place, Vec::new()));
        }
        beats.last_mut().unwrap().1.push(director.scene().unwrap());
        if !director.tick().unwrap() {
            break;
        }
    }
    beats.into_iter().map(|(place, mut scenes)| (place, scenes.swap_remove(scenes.len() / 2))).collect()
}

fn scene_of(act: usize, beat: usize) -> Scene {
    scenes().into_iter().find(|(place, _)| *place == (act, beat)).unwrap().1
}

fn plain(lines: &[Line]) -> String {
    lines.iter().map(|line| line.plain() + "\n").collect()
}

#[test]
fn frames_at_several_beats() {
    let scenes = scenes();
    for (act, beat) in [(0, 1), (0, 3), (0, 5), (0, 6), (0, 7), (1, 3), (1, 4), (2, 5), (2, 6), (2, 8)] {
        let (_, scene) = scenes.iter().find(|(place, _)| *place == (act, beat)).unwrap();
        insta::assert_snapshot!(
            format!("act_{}_beat_{}_80x24", act + 1, beat + 1),
            plain(&frame(scene, SMALL, Glyphs::Unicode))
        );
    }
}

#[test]
fn large_frames() {
    for (act, beat) in [(0, 6), (2, 5)] {
        insta::assert_snapshot!(
            format!("act_{}_beat_{}_120x40", act + 1, beat + 1),
            plain(&frame(&scene_of(act, beat), LARGE, Glyphs::Unicode))
        );
    }
}

#[test]
fn a_frame_in_colour_and_one_in_ascii() {
    let scene = scene_of(1, 4);
    let painted: String =
        frame(&scene, SMALL, Glyphs::Unicode).iter().map(|line| line.painted() + "\n").collect();
    insta::assert_snapshot!("act_2_beat_5_coloured", painted.replace('\u{1b}', "^"));
    let ascii = plain(&frame(&scene, SMALL, Glyphs::Ascii));
    assert!(ascii.is_ascii());
    insta::assert_snapshot!("act_2_beat_5_ascii", ascii);
}

#[test]
fn every_scene_fits_every_screen() {
    let scenes = scenes();
    for (width, height) in
        [(60, 16), (61, 17), (72, 20), (80, 24), (100, 31), (100, 32), (120, 40), (200, 60)]
    {
        let size = Size { width, height };
        assert!(fits(size));
        for (place, scene) in &scenes {
            let lines = frame(scene, size, Glyphs::Unicode);
            assert_eq!(lines.len(), height, "{place:?} in {size:?}");
            assert!(lines.iter().all(|line| line.width() <= width), "{place:?} in {size:?}");
        }
    }
}

#[test]
fn the_pace_is_on_the_screen_at_every_moment() {
    for (place, scene) in scenes() {
        let text = plain(&frame(&scene, SMALL, Glyphs::Unicode));
        let said = text.contains("s there") || text.contains("time there stands still");
        assert!(said, "{place:?}:\n{text}");
    }
}

#[test]
fn the_careless_brain_is_said_to_be_scripted() {
    assert!(plain(&frame(&scene_of(1, 2), SMALL, Glyphs::Unicode)).contains("careless brain, scripted"));
}

#[test]
fn gates_are_read_out_one_after_the_other() {
    let mut director = Director::new().unwrap();
    while director.place() != (0, 5) {
        director.tick().unwrap();
    }
    let mut passed = Vec::new();
    while director.place() == (0, 5) {
        let gates = director.scene().unwrap().gates;
        passed.push(gates.iter().filter(|gate| gate.state == holdfast_plot::GateState::Passed).count());
        director.tick().unwrap();
    }
    passed.dedup();
    assert_eq!(passed, (0..=8).collect::<Vec<usize>>());
}

#[test]
fn no_beat_is_too_short_to_be_read() {
    let mut director = Director::new().unwrap();
    let (mut place, mut shown) = (director.place(), Duration::ZERO);
    while director.tick().unwrap() {
        shown += TICK;
        if director.place() != place {
            assert!(shown >= Duration::from_millis(1000), "{place:?} for {shown:?}");
            (place, shown) = (director.place(), Duration::ZERO);
        }
    }
}
