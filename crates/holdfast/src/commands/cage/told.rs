//! A plan and an end, as people read them.

use std::path::{Path, PathBuf};

use holdfast_cage::Evidence;
use holdfast_cage::amount::{Bytes, spoken};
use holdfast_cage::plan::{Mount, Net, PROXY_PORT, Plan};
use holdfast_cage::wire::End;
use serde_json::json;

use super::Asked;
use crate::console::Console;
use crate::look::{Shape, padded};
use crate::problem::Result;

/// What would be run, and how.
pub(super) fn plan(asked: &Asked, console: &mut Console) -> Result<()> {
    let plan = &asked.plan;
    if console.is_json() {
        let listen = match &plan.net {
            Net::Own { listen } => json!({"own": {"listen": listen}}),
            Net::Given { namespace } => json!({"given": namespace}),
            Net::Machine => json!("machine"),
        };
        return console.json(&json!({
            "dry_run": true,
            "policy": plan.policy,
            "argv": plan.argv,
            "directory": plan.directory,
            "user": plan.identity.uid,
            "mounts": plan.mounts,
            "network": listen,
            "variables": plan.environment.iter().map(|(name, _)| name).collect::<Vec<_>>(),
            "limits": limits(asked),
            "lacks": plan.lacks,
        }));
    }
    let style = console.out_style;
    let mut lines = vec![format!(
        "{} would run {} under the policy {}",
        style.shape(Shape::Unknown),
        plan.argv.join(" "),
        plan.policy
    )];
    lines.push(String::new());
    let mut row =
        |name: &str, text: &str| lines.push(format!("  {}  {text}", style.faint(&padded(name, 12))));
    row("user", &plan.identity.uid.to_string());
    row("folder", &plan.directory.display().to_string());
    for mount in &plan.mounts {
        match mount {
            Mount::Bind { at, writable: false, .. } if is_covered(plan, at) => {
                row("covered", &at.display().to_string())
            }
            Mount::Bind { at, writable: true, .. } => row("may change", &at.display().to_string()),
            Mount::Bind { at, run, .. } => {
                row(if *run { "may run" } else { "may read" }, &at.display().to_string())
            }
            Mount::Temporary { at, bytes, .. } => {
                row("own", &format!("{} ({} at most, gone afterwards)", at.display(), Bytes(*bytes)))
            }
            Mount::Hidden { at, .. } => row("hidden", &at.display().to_string()),
            Mount::Same { at } => row("covered", &at.display().to_string()),
            Mount::Link { .. } | Mount::File { .. } | Mount::Processes | Mount::Devices { .. } => {}
        }
    }
    for line in network(asked) {
        row("network", &line);
    }
    for (name, value) in limits(asked).as_object().into_iter().flatten() {
        row(name, value.as_str().unwrap_or_default());
    }
    for lack in &plan.lacks {
        lines.push(format!("\n{} no {}: {}", style.shape(Shape::NeedsYou), lack.piece, lack.means));
    }
    lines.push(String::new());
    console.write(lines.join("\n").as_bytes())
}

/// Whether it is what others would run by themselves, and not a grant.
fn is_covered(plan: &Plan, at: &Path) -> bool {
    let below = |root: &PathBuf| at.starts_with(root) && at != root;
    plan.guard.as_ref().is_some_and(|guard| guard.covered.contains(at) && guard.roots.iter().any(below))
}

fn network(asked: &Asked) -> Vec<String> {
    let Net::Own { listen } = &asked.plan.net else { return vec!["one that is there already".to_owned()] };
    let mut lines: Vec<String> =
        asked.policy.services.iter().map(|s| format!("127.0.0.1:{} is {}", s.port, s.to)).collect();
    if listen.contains(&PROXY_PORT) {
        for destination in &asked.policy.destinations {
            let ports: Vec<String> = destination.ports.iter().map(u16::to_string).collect();
            lines.push(format!("{}:{} through the proxy", destination.host, ports.join(",")));
        }
    }
    if lines.is_empty() {
        lines.push("none but its own loopback".to_owned());
    }
    lines
}

fn limits(asked: &Asked) -> serde_json::Value {
    let limits = &asked.policy.limits;
    let mut all = serde_json::Map::new();
    let mut put = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            all.insert(name.to_owned(), value.into());
        }
    };
    put("time", limits.time.map(spoken));
    put("memory", limits.memory.map(|m| m.to_string()));
    put("cpu", limits.cpu.map(|c| c.to_string()));
    put("processes", limits.processes.map(|p| p.to_string()));
    put("disk", limits.disk.map(|d| d.to_string()));
    put("output", limits.output.map(|o| o.to_string()));
    put("descriptors", limits.descriptors.map(|d| d.to_string()));
    all.into()
}

/// Beside the program's own words, only what it could not say itself.
pub(super) fn end(evidence: &Evidence, console: &Console) {
    if !matches!(evidence.ended.end, End::Exited { .. }) {
        console.warn(&format!("cage: {}; {}", evidence.end(), evidence.used()));
    }
    for left in &evidence.ended.left_behind {
        let now =
            left.set_aside.as_ref().map(|now| format!("; it is {} now", now.display())).unwrap_or_default();
        console.warn(&format!("cage: left behind: {}: {}{now}", left.path.display(), left.what));
    }
    let counted = |all: &std::collections::BTreeMap<String, u64>| {
        all.iter().map(|(name, count)| format!("{name} ×{count}")).collect::<Vec<_>>().join(", ")
    };
    if !evidence.ended.refused.is_empty() {
        console.note(&format!("cage: refused calls: {}", counted(&evidence.ended.refused)));
    }
    if !evidence.refused_destinations.is_empty() {
        console.note(&format!("cage: refused destinations: {}", counted(&evidence.refused_destinations)));
    }
}
