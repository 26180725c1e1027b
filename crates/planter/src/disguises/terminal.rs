//! What a terminal takes in without showing it: control characters, things written over, escape sequences.

use super::Disguise;
use super::place::Where::{All, Fifth, Last, Middle, Third};
use super::place::{halves, insert, insert_with, pieces, write};

pub(super) fn all() -> Vec<Disguise> {
    [controls(), sequences()].concat()
}

/// Line by line, the second half first.
fn swapped(secret: &str, put: impl Fn(&str, &str) -> String) -> String {
    let line = |line: &str| {
        let (one, two) = halves(line);
        put(one, two)
    };
    secret.split('\n').map(line).collect::<Vec<_>>().join("\r\n")
}

fn controls() -> Vec<Disguise> {
    let d = |name, put_on| Disguise { name, family: "control", put_on };
    vec![
        d("start of heading between all", |s| insert(s, All, "\u{1}")),
        d("bell in the middle", |s| insert(s, Middle, "\u{7}")),
        d("bell between every third", |s| insert(s, Third, "\u{7}")),
        d("shift in after the first four", |s| insert(s, Fifth, "\u{f}")),
        d("data link escape before the last", |s| insert(s, Last, "\u{10}")),
        d("unit separator in the middle", |s| insert(s, Middle, "\u{1f}")),
        d("delete between all", |s| insert(s, All, "\u{7f}")),
        d("delete after the first four", |s| insert(s, Fifth, "\u{7f}")),
        d("C1 control between every third", |s| insert(s, Third, "\u{80}")),
        d("C1 padding in the middle", |s| insert(s, Middle, "\u{99}")),
        d("other control characters in each gap", |s| {
            insert_with(s, All, |at| {
                ["\u{1}", "\u{2}", "\u{5}", "\u{e}\u{f}", "\u{11}", "\u{13}", "\u{16}"][at % 7].into()
            })
        }),
        d("wrong letter and backspace before each", |s| insert(s, All, "x\u{8}")),
        d("wrong letter and backspace in the middle", |s| insert(s, Middle, "x\u{8}")),
        d("wrong letters and backspaces after the first four", |s| {
            insert(s, Fifth, "oops\u{8}\u{8}\u{8}\u{8}")
        }),
        d("wrong letter wiped with backspace, blank, backspace before the last", |s| {
            insert(s, Last, "x\u{8} \u{8}")
        }),
        d("wrong letter and delete between every third", |s| insert(s, Third, "x\u{7f}")),
        d("bold by overstriking", |s| {
            write(s, All, "", |c| if c == '\n' { c.into() } else { format!("{c}\u{8}{c}") })
        }),
        d("underline by overstriking", |s| {
            write(s, All, "", |c| if c == '\n' { c.into() } else { format!("_\u{8}{c}") })
        }),
        d("underline by overstriking, the fifth", |s| {
            write(s, Fifth, "", |c| if c == '\n' { c.into() } else { format!("_\u{8}{c}") })
        }),
        d("second half first, carriage return, first half over blanks", |s| {
            swapped(s, |one, two| format!("{}{two}\r{one}", " ".repeat(one.len())))
        }),
        d("written wrong to the middle, carriage return, written again", |s| {
            swapped(s, |one, two| format!("{}{two}\r{one}", "*".repeat(one.len())))
        }),
    ]
}

fn sequences() -> Vec<Disguise> {
    let d = |name, put_on| Disguise { name, family: "sequence", put_on };
    vec![
        d("colour off in the middle", |s| insert(s, Middle, "\u{1b}[0m")),
        d("colour off, short, between all", |s| insert(s, All, "\u{1b}[m")),
        d("red between every third", |s| insert(s, Third, "\u{1b}[31m")),
        d("two colours after the first four", |s| insert(s, Fifth, "\u{1b}[01;31m\u{1b}[K")),
        d("match coloured as grep does", |s| {
            let cut = super::place::after_four(s);
            format!("\u{1b}[01;31m\u{1b}[K{}\u{1b}[m\u{1b}[K{}", cut[0], cut[1])
        }),
        d("one of 256 colours before the last", |s| insert(s, Last, "\u{1b}[38;5;196m")),
        d("true colour, another for each", |s| {
            insert_with(s, All, |at| format!("\u{1b}[38;2;{};{};99m", at * 5 % 256, at * 3 % 256))
        }),
        d("colour with colons in the middle", |s| insert(s, Middle, "\u{1b}[38:2::1:2:3m")),
        d("C1 introducer of colour in the middle", |s| insert(s, Middle, "\u{9b}0m")),
        d("erase to the end of the line after the first four", |s| insert(s, Fifth, "\u{1b}[K")),
        d("cursor shown, private mode, between every third", |s| insert(s, Third, "\u{1b}[?25h")),
        d("cursor shape, with a blank, before the last", |s| insert(s, Last, "\u{1b}[2 q")),
        d("save and restore the cursor in the middle", |s| insert(s, Middle, "\u{1b}7\u{1b}8")),
        d("character set in the middle", |s| insert(s, Middle, "\u{1b}(B")),
        d("character set and colour off, as tput has it, before the last", |s| {
            insert(s, Last, "\u{1b}(B\u{1b}[m")
        }),
        d("keypad mode between every third", |s| insert(s, Third, "\u{1b}=")),
        d("window title, ended by bell, in the middle", |s| insert(s, Middle, "\u{1b}]0;sh\u{7}")),
        d("window title, ended by ST, after the first four", |s| insert(s, Fifth, "\u{1b}]2;a b\u{1b}\\")),
        d("device control string in the middle", |s| insert(s, Middle, "\u{1b}Pq#0\u{1b}\\")),
        d("application program command before the last", |s| insert(s, Last, "\u{1b}_x\u{1b}\\")),
        d("hyperlink around each half", |s| {
            let (one, two) = halves(s);
            let link = |text| format!("\u{1b}]8;;https://example.test\u{1b}\\{text}\u{1b}]8;;\u{1b}\\");
            link(one) + &link(two)
        }),
        d("cursor back over a wrong letter in the middle", |s| insert(s, Middle, "X\u{1b}[D")),
        d("cursor back over wrong letters after the first four", |s| insert(s, Fifth, "zzz\u{1b}[3D")),
        d("second half first, by columns", |s| {
            swapped(s, |one, two| format!("\u{1b}[{}G{two}\u{1b}[1G{one}", one.len() + 1))
        }),
        d("second half first, then cursor back", |s| {
            swapped(s, |one, two| {
                format!("\u{1b}[{}C{two}\u{1b}[{}D{one}", one.len().max(1), (one.len() + two.len()).max(1))
            })
        }),
        d("coloured in pieces of three, colour off between", |s| {
            pieces(s, 3).iter().map(|p| format!("\u{1b}[33m{p}\u{1b}[0m")).collect()
        }),
    ]
}
