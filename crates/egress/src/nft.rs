//! The packet filter at work: `nft`, by its argument list, with what it is told on its standard input, and an end in time.

use std::time::Duration;

use holdfast_subprocess::{Limits, NotEnded};
use serde_json::Value;

use crate::rules::TABLE;
use crate::wanted::Who;

const WITHIN: Duration = Duration::from_secs(20);
/// A table of ours with all its sets full is shorter.
const OUTPUT_MAX: usize = 64 << 20;
const COMPLAINT_MAX: usize = 400;

/// Why the filter did not do it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotDone {
    #[error("nft cannot be run: {0}")]
    NotRun(String),
    #[error("nft refused: {0}")]
    Refused(String),
    #[error("nft did not end within {} s", WITHIN.as_secs())]
    Hangs,
    #[error("nft said something that is not understood")]
    NotUnderstood,
}

/// One transaction: all of it or nothing.
pub fn load(transaction: &str) -> Result<(), NotDone> {
    run(&["-f", "-"], transaction.as_bytes()).map(drop)
}

/// What there is of ours, as the filter itself shows it, without numbers that change by themselves; nothing where there is none.
pub fn in_force() -> Result<Option<Value>, NotDone> {
    let listed = match run(&["-j", "-s", "list", "table", "inet", TABLE], b"") {
        Ok(listed) => listed,
        Err(NotDone::Refused(why)) if why.contains("No such file or directory") => return Ok(None),
        Err(other) => return Err(other),
    };
    let mut value: Value = serde_json::from_slice(&listed).map_err(|_| NotDone::NotUnderstood)?;
    plain(&mut value);
    Ok(Some(value))
}

/// How many packets of each user were refused since the table is there.
pub fn refused() -> Result<Vec<(Who, u64)>, NotDone> {
    let listed = run(&["-j", "list", "counters", "table", "inet", TABLE], b"")?;
    let value: Value = serde_json::from_slice(&listed).map_err(|_| NotDone::NotUnderstood)?;
    let counters = value["nftables"].as_array().map(Vec::as_slice).unwrap_or_default();
    let count = |who: Who| {
        let name = format!("{}_refused", who.word());
        counters.iter().find_map(|it| {
            let counter = &it["counter"];
            (counter["name"] == name.as_str() && counter["table"] == TABLE)
                .then(|| counter["packets"].as_u64())?
        })
    };
    Ok(Who::ALL.into_iter().filter_map(|who| Some((who, count(who)?))).collect())
}

/// Takes the table away; good when there is none.
pub fn clear() -> Result<(), NotDone> {
    load(&format!("add table inet {TABLE}\ndelete table inet {TABLE}\n"))
}

/// Without handles and counts, and with what a set holds in an order: two looks at the same rules are the same.
fn plain(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for key in ["handle", "packets", "bytes", "metainfo"] {
                map.remove(key);
            }
            map.values_mut().for_each(plain);
            if let Some(Value::Array(elements)) = map.get_mut("elem") {
                elements.sort_by_cached_key(ToString::to_string);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}

fn run(args: &[&str], input: &[u8]) -> Result<Vec<u8>, NotDone> {
    let not_run = |e: std::io::Error| NotDone::NotRun(e.to_string());
    let mut command = holdfast_subprocess::command("nft").map_err(not_run)?;
    command.args(args);
    let limits = Limits { within: WITHIN, output_max: OUTPUT_MAX };
    let ran = holdfast_subprocess::run(&mut command, input.to_vec(), limits).map_err(|e| match e {
        NotEnded::Late => NotDone::Hangs,
        NotEnded::Io(e) => not_run(e),
    })?;
    if ran.status.success() { Ok(ran.out) } else { Err(NotDone::Refused(short(&ran.err))) }
}

fn short(complaint: &[u8]) -> String {
    let text = String::from_utf8_lossy(complaint);
    let line: String = text.lines().take(2).collect::<Vec<_>>().join(" ");
    holdfast_types::printable(&line).chars().take(COMPLAINT_MAX).collect()
}
