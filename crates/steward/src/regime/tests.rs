//! What [`regimes`] says of series whose truth is plain, and what holds for any series at all.

use proptest::prelude::*;

use super::*;

/// Noise from a seed: SplitMix64, and twelve uniforms to a nearly normal figure.
struct Noise(u64);

impl Noise {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

fn drawn(seed: u64, length: usize, mut value: impl FnMut(usize, &mut Noise) -> f64) -> Vec<f64> {
    let mut noise = Noise(seed);
    (0..length).map(|at| value(at, &mut noise)).collect()
}

fn told(values: &[f64]) -> Vec<Regime> {
    let values: Vec<Option<f64>> = values.iter().copied().map(Some).collect();
    regimes(&values, &Wanted::default())
}

fn begins(regimes: &[Regime]) -> Vec<(usize, What)> {
    regimes.iter().skip(1).map(|regime| (regime.begins, regime.change)).collect()
}

/// The one caller: so many changes, of these kinds, each within the margin, for each of a few seeds.
fn check(name: &str, margin: usize, wanted: &[(usize, What)], series: impl Fn(u64) -> Vec<f64>) {
    for seed in 1..6 {
        let found = begins(&told(&series(seed)));
        assert_eq!(found.len(), wanted.len(), "{name}, seed {seed}: {found:?}");
        for ((at, what), (wanted_at, wanted_what)) in found.iter().zip(wanted) {
            assert!(at.abs_diff(*wanted_at) <= margin, "{name}, seed {seed}: {found:?}");
            assert_eq!(what, wanted_what, "{name}, seed {seed}: {found:?}");
        }
    }
}

fn wave(at: usize, period: usize) -> f64 {
    (std::f64::consts::TAU * at as f64 / period as f64).sin()
}

#[test]
fn a_level_that_shifts_begins_a_regime() {
    let step = |at: usize, place: usize, size: f64| if at >= place { size } else { 0.0 };
    check("plain", 2, &[(120, What::Level)], |seed| {
        drawn(seed, 300, |at, noise| noise.normal() + step(at, 120, 4.0))
    });
    check("yearly", 3, &[(30, What::Level)], |seed| {
        drawn(seed, 70, |at, noise| 1_000.0 - 130.0 * (noise.normal() + step(at, 30, 3.0)))
    });
    check("no noise at all", 0, &[(40, What::Level)], |_| drawn(0, 100, |at, _| 5.0 + step(at, 40, 2.0)));
    check("fall and recovery", 1, &[(30, What::Level), (40, What::Level)], |seed| {
        drawn(seed, 80, |at, noise| {
            0.9 + 0.02 * noise.normal() - if (30..40).contains(&at) { 0.3 } else { 0.0 }
        })
    });
    check("counts", 4, &[(150, What::Level)], |seed| {
        drawn(seed, 300, |at, noise| (2.0 + 1.2 * noise.normal() + step(at, 150, 5.0)).round().max(0.0))
    });
    check("long", 5, &[(31_000, What::Level)], |seed| {
        drawn(seed, 60_000, |at, noise| noise.normal() + step(at, 31_000, 2.0))
    });
}

#[test]
fn a_shift_is_found_through_spikes_memory_and_a_cycle() {
    check("spikes", 2, &[(90, What::Level)], |seed| {
        drawn(seed, 200, |at, noise| {
            noise.normal() + if at >= 90 { 4.0 } else { 0.0 } + if noise.unit() < 0.02 { -30.0 } else { 0.0 }
        })
    });
    check("memory", 5, &[(200, What::Level)], |seed| {
        let mut last = 0.0;
        drawn(seed, 400, |at, noise| {
            last = 0.6 * last + noise.normal();
            last + if at >= 200 { 7.0 } else { 0.0 }
        })
    });
    check("cycle", 3, &[(250, What::Level)], |seed| {
        drawn(seed, 480, |at, noise| 5.0 * wave(at, 24) + noise.normal() + if at >= 250 { 4.0 } else { 0.0 })
    });
}

#[test]
fn a_bend_begins_a_regime_and_is_told_as_one() {
    check("take-off", 6, &[(80, What::Slope)], |seed| {
        drawn(seed, 160, |at, noise| 0.02 * at as f64 + 0.5 * at.saturating_sub(80) as f64 + noise.normal())
    });
    check("ramp", 2, &[(12, What::Slope), (20, What::Slope)], |seed| {
        drawn(seed, 32, |at, noise| 30.0 + 12.0 * at.saturating_sub(12).min(8) as f64 + noise.normal())
    });
}

#[test]
fn a_spread_that_widens_begins_a_regime() {
    check("wider", 8, &[(150, What::Spread)], |seed| {
        drawn(seed, 300, |at, noise| noise.normal() * if at >= 150 { 5.0 } else { 1.0 })
    });
}

#[test]
fn what_stays_the_same_is_one_regime() {
    check("noise", 0, &[], |seed| drawn(seed, 300, |_, noise| noise.normal()));
    check("constant", 0, &[], |_| vec![4.2; 200]);
    check("trend", 0, &[], |seed| drawn(seed, 200, |at, noise| 0.3 * at as f64 + noise.normal()));
    check("smooth growth", 0, &[], |_| drawn(0, 300, |at, _| (0.004 * at as f64).exp()));
    check("cycle", 0, &[], |seed| drawn(seed, 240, |at, noise| 4.0 * wave(at, 12) + noise.normal()));
    check("cycle that grows with the level", 0, &[], |seed| {
        drawn(seed, 240, |at, noise| {
            let level = 100.0 + at as f64;
            level * (1.0 + 0.15 * wave(at, 12)) + noise.normal()
        })
    });
    check("random walk", 0, &[], |seed| {
        let mut at_now = 0.0;
        drawn(seed, 250, |_, noise| {
            at_now += noise.normal();
            at_now
        })
    });
    check("two spikes", 0, &[], |seed| {
        drawn(seed, 150, |at, noise| noise.normal() + if at == 40 || at == 100 { 50.0 } else { 0.0 })
    });
}

#[test]
fn a_regime_tells_its_figures_in_the_unit_of_the_values() {
    let told = told(&drawn(
        3,
        400,
        |at, noise| if at < 200 { 50.0 + noise.normal() } else { 80.0 + noise.normal() },
    ));
    assert_eq!(told.len(), 2);
    assert!((told[0].level - 50.0).abs() < 0.5 && (told[1].level - 80.0).abs() < 0.5, "{told:?}");
    assert!(told.iter().all(|regime| (regime.spread - 1.0).abs() < 0.3 && regime.slope == 0.0), "{told:?}");
    assert!(told[1].sure > 0.99 && told[0].change == What::First);
    let told = self::told(&drawn(3, 200, |at, noise| 0.5 * at as f64 + noise.normal()));
    assert!((told[0].slope - 0.5).abs() < 0.02, "{told:?}");
}

#[test]
fn a_cycle_is_told_by_its_length() {
    let told = told(&drawn(5, 600, |at, noise| 4.0 * wave(at, 24) + noise.normal()));
    assert_eq!((told.len(), told[0].cycle), (1, Some(24)));
}

#[test]
fn missing_samples_hide_no_shift_and_make_none() {
    for seed in 1..6 {
        for (size, wanted) in [(4.0, 1), (0.0, 0)] {
            let mut noise = Noise(seed);
            let values: Vec<Option<f64>> = (0..300)
                .map(|at| {
                    let value = noise.normal() + 0.05 * at as f64 + if at >= 180 { size } else { 0.0 };
                    (noise.unit() > 0.2 && !(100..130).contains(&at)).then_some(value)
                })
                .collect();
            let found = begins(&regimes(&values, &Wanted::default()));
            assert_eq!(found.len(), wanted, "seed {seed}: {found:?}");
            assert!(found.iter().all(|(at, _)| at.abs_diff(180) <= 5), "seed {seed}: {found:?}");
        }
    }
}

#[test]
fn nothing_and_next_to_nothing_have_an_answer() {
    assert!(regimes(&[], &Wanted::default()).is_empty());
    for values in
        [vec![None], vec![Some(1.0)], vec![None; 50], vec![Some(f64::NAN); 9], vec![Some(1.0), Some(2.0)]]
    {
        let told = regimes(&values, &Wanted::default());
        assert_eq!((told.len(), told[0].begins, told[0].ends), (1, 0, values.len()));
    }
}

#[test]
fn asking_for_longer_regimes_leaves_the_short_one_out() {
    let values: Vec<Option<f64>> = drawn(2, 500, |at, noise| {
        noise.normal() + if (60..72).contains(&at) { 12.0 } else { 0.0 } + if at >= 220 { 12.0 } else { 0.0 }
    })
    .into_iter()
    .map(Some)
    .collect();
    let found = |min_length| {
        begins(&regimes(&values, &Wanted { min_length: Some(min_length), ..Wanted::default() })).len()
    };
    assert_eq!((found(5), found(40)), (3, 1));
}

#[test]
fn a_series_told_backwards_has_the_same_regimes() {
    for seed in 1..6 {
        let mut values = drawn(seed, 300, |at, noise| noise.normal() + if at >= 110 { 5.0 } else { 0.0 });
        let forwards = begins(&told(&values));
        values.reverse();
        let backwards = begins(&told(&values));
        assert_eq!((forwards.len(), backwards.len()), (1, 1), "seed {seed}");
        assert!((300 - backwards[0].0).abs_diff(forwards[0].0) <= 1, "seed {seed}");
    }
}

fn sound(told: &[Regime], length: usize, min_length: usize) -> Result<(), TestCaseError> {
    prop_assert_eq!(told.first().map(|regime| regime.begins), Some(0));
    prop_assert_eq!(told.last().map(|regime| regime.ends), Some(length));
    for pair in told.windows(2) {
        prop_assert_eq!(pair[0].ends, pair[1].begins);
    }
    for regime in told {
        prop_assert!(told.len() == 1 || regime.ends - regime.begins >= min_length, "{:?}", told);
        prop_assert!(
            [regime.level, regime.spread, regime.slope, regime.sure].iter().all(|figure| figure.is_finite())
        );
        prop_assert!((0.0..=1.0).contains(&regime.sure) && regime.spread >= 0.0);
    }
    Ok(())
}

fn hostile() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![
        6 => (-100.0..100.0f64).prop_map(Some),
        2 => (0..3i8).prop_map(|value| Some(f64::from(value))),
        1 => Just(None),
        1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, 1e308, -1e308, 5e-324, 1e-310, 0.0, -0.0]).prop_map(Some),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn whatever_comes_in_regimes_are_whole_and_finite(
        values in prop::collection::vec(hostile(), 1..150),
        min_length in prop::option::of(0usize..60),
        false_alarms in prop_oneof![0.0001..0.5f64, Just(f64::NAN), Just(-1.0), Just(7.0)],
    ) {
        let wanted = Wanted { min_length, false_alarms };
        sound(&regimes(&values, &wanted), values.len(), min_length.unwrap_or(0).max(3))?;
    }

    #[test]
    fn the_largest_and_smallest_of_figures_are_borne(
        picks in prop::collection::vec(0usize..6, 1..120),
    ) {
        let of = [f64::MAX, f64::MIN, 5e-324, -5e-324, 1e300, 0.0];
        let values: Vec<Option<f64>> = picks.iter().map(|pick| Some(of[*pick])).collect();
        sound(&regimes(&values, &Wanted::default()), values.len(), 3)?;
    }

    #[test]
    fn moving_and_stretching_the_values_moves_no_boundary(
        seed in 0u64..1_000,
        place in 30usize..170,
        size in 0i32..40,
        stretch in prop::sample::select(vec![0.25, 2.0, 1024.0, -1.0]),
        shift in -1_000i32..1_000,
    ) {
        // Whole figures and powers of two: the sums are the same to the last digit.
        let values = drawn(seed, 200, |at, noise| {
            (8.0 * noise.normal()).round() + if at >= place { f64::from(size) } else { 0.0 }
        });
        let moved: Vec<f64> = values.iter().map(|value| (value + f64::from(shift)) * stretch).collect();
        prop_assert_eq!(begins(&told(&values)), begins(&told(&moved)));
    }
}
