//! Runs one program in a cage and prints what it printed and the evidence: what the tests run in a guest, to which nothing
//! but programs is carried. `caged LAUNCHER WORK UID MEMORY PROCESSES CPU [LAYER…] -- PROGRAM…`; the layers are left off.
#![allow(clippy::print_stdout, reason = "it is what this is for")]

use std::io::Write;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdfast_cage::amount::{Bytes, Percent};
use holdfast_cage::{Call, Identity, Input, Launcher, Layer, Machine, Plan, Policy, Sinks};

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let split = arguments.iter().position(|a| a == "--").ok_or("no program")?;
    let [launcher, work, uid, memory, processes, cpu, off @ ..] = &arguments[..split] else {
        return Err("usage".into());
    };
    let off: Vec<Layer> = serde_json::from_value(serde_json::json!(off))?;
    let launcher = Launcher::at(launcher);
    let host = launcher.host()?;
    let mut policy = Policy::named("work")?;
    policy.limits.memory = Bytes::parse(memory);
    policy.limits.processes = processes.parse().ok();
    policy.limits.cpu = Percent::parse(cpu);
    policy.limits.time = Some(Duration::from_secs(20));
    let uid: u32 = uid.parse()?;
    let identity = Identity { uid, gid: uid };
    let call = Call {
        argv: arguments[split + 1..].to_vec(),
        work: PathBuf::from(work),
        identity,
        environment: vec![],
    };
    let plan = Plan::of(&policy, &call, &host, &Machine)?.without(&off);
    let kept = Kept::default();
    let sinks = Sinks { output: Box::new(kept.clone()), errors: Box::new(std::io::stderr()) };
    let input = Input::From(std::io::stdin().as_fd().try_clone_to_owned()?);
    let evidence = launcher.start(&plan, &policy, input, sinks)?.wait()?;
    let output = kept.0.lock().unwrap_or_else(PoisonError::into_inner);
    let output = String::from_utf8_lossy(&output);
    println!(
        "{}",
        serde_json::json!({"host": host, "lacks": plan.lacks, "evidence": evidence, "output": output})
    );
    Ok(())
}
