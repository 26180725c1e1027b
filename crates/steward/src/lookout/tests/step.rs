//! Steps of three spreads in noise that resembles itself, and what only looks like one.

use super::*;

/// In how many of forty lives such a step is told as a shift within three minutes.
fn found_in_time(kept: f64) -> usize {
    let in_time = |seed: &u64| {
        let found = after(1000 + seed, kept, 6, |_, plain| plain + 3.0);
        found.iter().any(|finding| finding.kind == Kind::Shift && finding.direction == Some(Direction::Up))
    };
    (0..40).filter(in_time).count()
}

#[test]
fn a_step_in_noise_that_resembles_itself_is_found_about_as_soon_as_can_be() {
    // With noise and step known, the likelihood ratio finds 98 % of these in time where nine tenths are kept, and 71 % where
    // one half is.
    for (kept, least) in [(0.9, 34), (0.5, 18)] {
        let found = found_in_time(kept);
        assert!(found >= least, "{kept}: {found} of 40");
    }
}

#[test]
fn two_samples_far_out_are_no_step() {
    for height in [4.0, 8.0, 30.0, 1e6, -8.0, -1e6] {
        for kept in [-0.5, 0.0, 0.5, 0.9] {
            let found = after(5, kept, 40, |index, plain| if index < 2 { plain + height } else { plain });
            let shifts = found.iter().filter(|finding| finding.kind == Kind::Shift).count();
            assert_eq!(shifts, 0, "{height}, {kept}: {found:?}");
        }
    }
}

#[test]
fn samples_either_side_of_a_gap_make_no_leap() {
    let mut noise = noise(3, 0.9);
    let mut watch = Lookout::new(Asked::default());
    found_by(&mut watch, 0..BEFORE, |_| Some(noise()));
    // Two samples, three minutes of none, and two more, four spreads higher: only two of them follow each other.
    let mut found = Vec::new();
    for index in BEFORE..BEFORE + 10 {
        let gap = (BEFORE + 2..BEFORE + 8).contains(&index);
        let value = noise() + if index >= BEFORE + 8 { 4.0 } else { 0.0 };
        found.extend(watch.step(at(index), (!gap).then_some(value)).finding);
    }
    assert_eq!(kinds(&found), [(Kind::Missing, None)]);
}
