//! `holdfast disk`: what is used, what it may grow to, and what happens when it runs short.

use clap::Args;
use holdfast_api::{Disk, DiskConsequences};
use holdfast_control::DiskState;
use holdfast_types::Exit;

use super::status;
use crate::console::Console;
use crate::disk::Level;
use crate::house::House;
use crate::look::{Shape, Style, bytes, padded};
use crate::problem::Result;

/// The disk budget: what is used, what may be, and what happens when it runs short
///
/// Exit code 0: roomy, 1: tight or full.
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: budget_bytes, used_bytes, free_bytes, level, parts[] with part, bytes, at_most; consequences with \
tight, full.")]
pub(crate) struct DiskArgs {}

pub(crate) fn run(_: &DiskArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let disk = status::look(house)?.disk;
    if console.is_json() {
        console.told_as_json(&budget(disk.clone()))?;
    } else {
        let text = told(&disk, console.out_style);
        console.write(text.as_bytes())?;
    }
    Ok(if disk.level == Level::Roomy.word() { Exit::Ok } else { Exit::Negative })
}

/// The budget, with what happens next.
pub(crate) fn budget(disk: DiskState) -> Disk {
    let DiskState { budget_bytes, used_bytes, free_bytes, level, parts } = disk;
    let consequences = DiskConsequences {
        tight: Level::Tight.consequence().to_owned(),
        full: Level::Full.consequence().to_owned(),
    };
    Disk { budget_bytes, used_bytes, free_bytes, level, parts, consequences }
}

fn told(disk: &DiskState, style: Style) -> String {
    let mut out = String::new();
    for part in &disk.parts {
        let most = part.at_most.map(|n| format!("  at most {}", bytes(n))).unwrap_or_default();
        let share = bar(part.bytes, disk.budget_bytes);
        out.push_str(&format!(
            "  {}{:>12}  {share}{}\n",
            padded(&part.part, 9),
            bytes(part.bytes),
            style.faint(&most)
        ));
    }
    let shape = if disk.level == Level::Roomy.word() { Shape::Settled } else { Shape::NeedsYou };
    let percent = disk.used_bytes as f64 * 100.0 / disk.budget_bytes.max(1) as f64;
    out.push_str(&format!(
        "\n{} {}: {} of {} ({percent:.0} %), {} free on the file system\n",
        style.shape(shape),
        disk.level,
        bytes(disk.used_bytes),
        bytes(disk.budget_bytes),
        bytes(disk.free_bytes)
    ));
    out.push_str(&format!("  when tight  {}\n", Level::Tight.consequence()));
    out.push_str(&format!("  when full   {}\n", Level::Full.consequence()));
    out
}

/// The share of the budget, as a bar of twenty cells.
fn bar(part: u64, whole: u64) -> String {
    let cells = (u128::from(part) * 20).div_ceil(u128::from(whole.max(1))).min(20) as usize;
    format!("{}{}", "█".repeat(cells), "·".repeat(20 - cells))
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdfast_control::DiskUse;

    #[test]
    fn the_budget_is_told_with_what_happens_next() {
        let part = |part: &str, mib: u64, at_most| DiskUse { part: part.into(), bytes: mib << 20, at_most };
        let disk = DiskState {
            budget_bytes: 8 << 30,
            used_bytes: 7475 << 20,
            free_bytes: 100 << 30,
            level: "tight".into(),
            parts: vec![
                part("journal", 7000, Some(4096 << 20)),
                part("index", 475, None),
                part("logs", 0, None),
            ],
        };
        insta::assert_snapshot!(told(&disk, Style::plain()));
    }
}
