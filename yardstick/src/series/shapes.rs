//! Shapes as people meet them in yearly, monthly and daily figures, with the marks a person would make.

use super::{Draw, Labelled, wave};

/// The shapes of [`realistic`].
pub const SHAPES: [&str; 25] = [
    "yearly flow with one drop",
    "yearly flow, nothing changes",
    "monthly sales with a break",
    "monthly growth, one regime",
    "bore hole with steps",
    "growth that takes off",
    "flat, ramp, flat",
    "prices that wander",
    "prices with a crash",
    "ratio that falls and recovers",
    "quality control, one shift",
    "quality control, none, outliers",
    "quality control, wider",
    "constant with one jump",
    "population, smooth",
    "joblessness with seasons",
    "adoption along an S",
    "output with a crisis",
    "epidemics that end",
    "employment that declines",
    "auction with a jump, one slip",
    "line of an image",
    "stocks that turn with the economy",
    "runs a year, two eras",
    "length of a network, steps down",
];

/// A shape as met in published figures, short as those are, with the marks a person would make.
pub fn realistic(shape: usize, seed: u64) -> Labelled {
    let mut draw = Draw::new(seed.wrapping_mul(41).wrapping_add(2_000 + shape as u64));
    let (values, begins) = shaped(shape, &mut draw);
    Labelled { kind: SHAPES[shape.min(24)], values: values.into_iter().map(Some).collect(), begins }
}

fn shaped(shape: usize, draw: &mut Draw) -> (Vec<f64>, Vec<usize>) {
    match shape {
        0 => {
            let (length, place) = (draw.whole(70, 120), draw.whole(20, 50));
            let drop = draw.real(1.6, 2.6);
            (
                (0..length)
                    .map(|at| 1_000.0 + 140.0 * (draw.normal() - if at >= place { drop } else { 0.0 }))
                    .collect(),
                vec![place],
            )
        }
        1 => ((0..draw.whole(40, 120)).map(|_| 900.0 + 150.0 * draw.normal()).collect(), vec![]),
        2 => {
            let length = draw.whole(100, 220);
            let place = length / 3 + draw.whole(0, length / 3);
            let slope = draw.real(-1.0, 1.0);
            let drop = draw.real(250.0, 600.0) * draw.sign();
            let values = (0..length).map(|at| {
                1_500.0
                    + slope * at as f64
                    + 200.0 * wave(at, 12)
                    + 80.0 * draw.normal()
                    + if at >= place { drop } else { 0.0 }
            });
            (values.collect(), vec![place])
        }
        3 => {
            let growth = draw.real(0.002, 0.006);
            let values = (0..draw.whole(100, 250)).map(|at| {
                100.0 * (growth * at as f64).exp() * (1.0 + 0.12 * wave(at, 12) + 0.02 * draw.normal())
            });
            (values.collect(), vec![])
        }
        4 => bore_hole(draw),
        5 => {
            let (length, place) = (draw.whole(40, 70), draw.whole(15, 30));
            let values = (0..length).map(|at| {
                20.0 + 0.1 * at as f64 + 1.6 * at.saturating_sub(place) as f64 + 1.2 * draw.normal()
            });
            (values.collect(), vec![place])
        }
        6 => {
            let (flat, ramp, rest) = (draw.whole(7, 15), draw.whole(5, 10), draw.whole(5, 10));
            let values = (0..flat + ramp + rest)
                .map(|at| 30.0 + 12.0 * at.saturating_sub(flat).min(ramp) as f64 + 1.5 * draw.normal());
            (values.collect(), vec![flat, flat + ramp])
        }
        7 => {
            let mut price = 100.0;
            let values = (0..draw.whole(150, 600)).map(|_| {
                price *= 1.0 + 0.012 * draw.heavy();
                price
            });
            (values.collect(), vec![])
        }
        8 => {
            let (length, place) = (draw.whole(150, 500), draw.whole(50, 120));
            let crash = draw.real(0.4, 0.65);
            let mut price = 100.0;
            let values = (0..length).map(|at| {
                price *= (1.0 + 0.008 * draw.normal()) * if at == place { crash } else { 1.0 };
                price
            });
            (values.collect(), vec![place])
        }
        9 => {
            let (length, fall) = (draw.whole(40, 120), draw.whole(12, 25));
            let recover = fall + draw.whole(5, 14);
            let values = (0..length).map(|at| {
                0.92 + 0.03 * draw.normal() - if (fall..recover).contains(&at) { 0.35 } else { 0.0 }
            });
            (values.collect(), vec![fall, recover])
        }
        10 => {
            let (length, place) = (draw.whole(150, 350), draw.whole(60, 120));
            let shift = draw.real(1.5, 4.0) * draw.sign();
            (
                (0..length).map(|at| 10.0 + draw.normal() + if at >= place { shift } else { 0.0 }).collect(),
                vec![place],
            )
        }
        11 => {
            let values = (0..draw.whole(150, 350))
                .map(|_| 10.0 + draw.normal() + if draw.whole(0, 80) == 0 { 9.0 * draw.sign() } else { 0.0 });
            (values.collect(), vec![])
        }
        12 => {
            let (length, place) = (draw.whole(150, 350), draw.whole(70, 110));
            (
                (0..length).map(|at| 10.0 + draw.normal() * if at >= place { 3.5 } else { 1.0 }).collect(),
                vec![place],
            )
        }
        13 => {
            let (length, place) = (draw.whole(50, 600), draw.whole(10, 40));
            ((0..length).map(|at| if at >= place { 7.0 } else { 5.0 }).collect(), vec![place])
        }
        14 => {
            let bend = draw.real(0.3, 1.0);
            let mut off = 0.0;
            let values = (0..draw.whole(100, 800)).map(|at| {
                off += 0.02 * draw.normal();
                let share = at as f64 / 400.0;
                150.0 + 80.0 * share * (1.0 + bend * share / 4.0) + off
            });
            (values.collect(), vec![])
        }
        16 => {
            let (length, rise) = (draw.whole(40, 120), draw.whole(8, 16));
            let middle = length / 2;
            let values = (0..length).map(|at| {
                100.0 / (1.0 + (-(at as f64 - middle as f64) * 4.0 / rise as f64).exp()) + 1.5 * draw.normal()
            });
            (values.collect(), vec![middle - rise / 2, middle + rise / 2])
        }
        17 => {
            let (length, place) = (draw.whole(45, 70), draw.whole(18, 35));
            let crisis = draw.real(0.12, 0.25);
            let mut output = 4.6;
            let values = (0..length).map(|at| {
                output += 0.02 + 0.012 * draw.normal()
                    - if at == place || at == place + 1 { crisis / 2.0 + 0.02 } else { 0.0 };
                f64::exp(output)
            });
            (values.collect(), vec![place])
        }
        18 => {
            let (years, over) = (draw.whole(12, 20), draw.whole(6, 9));
            let values = (0..years * 26).map(|at| {
                let high = if at < over * 26 { 60.0 + 30.0 * draw.normal().abs() } else { 6.0 };
                (high * (wave(at, 26) - 0.3).max(0.0) + 3.0 * draw.normal().abs()).round()
            });
            (values.collect(), vec![over * 26])
        }
        19 => {
            let (flat, fall, rest) = (draw.whole(25, 45), draw.whole(25, 40), draw.whole(12, 25));
            let slow = draw.correlated(flat + fall + rest, 0.7);
            let values = (0..flat + fall + rest)
                .map(|at| 1_000.0 - 22.0 * at.saturating_sub(flat).min(fall) as f64 + 25.0 * slow[at]);
            (values.collect(), vec![flat, flat + fall])
        }
        20 => {
            let (length, place, slip) = (draw.whole(150, 220), draw.whole(70, 110), draw.whole(20, 60));
            let slow = draw.correlated(length, 0.85);
            let values = (0..length).map(|at| {
                let level = 15.0 + 0.25 * at as f64 + if at >= place { 35.0 } else { 0.0 };
                if at == slip { level * 0.3 } else { level + 3.0 * slow[at] }
            });
            (values.collect(), vec![place])
        }
        21 => image_line(draw),
        22 => {
            let (up, down, again) = (draw.whole(60, 120), draw.whole(15, 30), draw.whole(60, 120));
            let slow = draw.correlated(up + down + again, 0.9);
            let values = (0..up + down + again).map(|at| {
                let slope_up = 4.0 * at as f64;
                let fall = 14.0 * at.saturating_sub(up).min(down) as f64;
                800.0 + slope_up - fall + 6.0 * slow[at]
            });
            (values.collect(), vec![up, up + down])
        }
        23 => {
            let (length, place) = (draw.whole(90, 130), draw.whole(30, 60));
            let slow = draw.correlated(length, 0.5);
            let rise = draw.real(2.2, 3.5);
            (
                (0..length)
                    .map(|at| 20.0 + 4.0 * (slow[at] + if at >= place { rise } else { 0.0 }))
                    .collect(),
                vec![place],
            )
        }
        24 => {
            let (first, second) = (draw.whole(8, 14), draw.whole(8, 14));
            let rest = draw.whole(8, 14);
            let values = (0..first + second + rest).map(|at| {
                let step = usize::from(at >= first) + usize::from(at >= first + second);
                40.0 - 0.1 * at as f64 - 7.0 * step as f64 + 0.4 * draw.normal()
            });
            (values.collect(), vec![first, first + second])
        }
        _ => {
            let (length, place) = (draw.whole(150, 250), draw.whole(60, 120));
            let rise = draw.real(2.0, 4.0);
            let slow = draw.correlated(length, 0.8);
            let values = (0..length).map(|at| {
                5.0 + 0.4 * slow[at] * 0.6 + 0.6 * wave(at, 12) + if at >= place { rise } else { 0.0 }
            });
            (values.collect(), vec![place])
        }
    }
}

fn bore_hole(draw: &mut Draw) -> (Vec<f64>, Vec<usize>) {
    let (mut values, mut begins) = (Vec::new(), Vec::new());
    let mut level = 120.0;
    for part in 0..draw.whole(5, 11) {
        if part > 0 {
            begins.push(values.len());
            level += draw.real(4.0, 14.0) * draw.sign();
        }
        let noise = draw.whole(15, 110);
        for wobble in draw.correlated(noise, 0.3) {
            let spike = if draw.whole(0, 50) == 0 { draw.real(-25.0, -8.0) } else { 0.0 };
            values.push(level + 1.1 * wobble + spike);
        }
    }
    (values, begins)
}

/// Brightness along a line: objects of their own level and texture.
fn image_line(draw: &mut Draw) -> (Vec<f64>, Vec<usize>) {
    let (mut values, mut begins) = (Vec::new(), Vec::new());
    let mut level: f64 = 120.0;
    for part in 0..draw.whole(4, 8) {
        if part > 0 {
            begins.push(values.len());
            let step = draw.real(40.0, 90.0);
            level += if level > 125.0 { -step } else { step };
        }
        let (length, texture) = (draw.whole(30, 110), draw.real(1.0, 12.0));
        values.extend(draw.correlated(length, 0.5).iter().map(|figure| (level + texture * figure).round()));
    }
    (values, begins)
}
