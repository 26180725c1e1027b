//! Runs one program in a cage and prints the evidence: what the tests run in a guest, to which nothing but two programs is
//! carried. `caged LAUNCHER WORK UID MEMORY PROCESSES CPU -- PROGRAM…`
#![allow(clippy::print_stdout, reason = "it is what this is for")]

use std::path::PathBuf;
use std::time::Duration;

use holdfast_cage::amount::{Bytes, Percent};
use holdfast_cage::{Call, Identity, Input, Launcher, Machine, Plan, Policy, Sinks};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let split = arguments.iter().position(|a| a == "--").ok_or("no program")?;
    let [launcher, work, uid, memory, processes, cpu] = &arguments[..split] else {
        return Err("usage".into());
    };
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
    let plan = Plan::of(&policy, &call, &host, &Machine)?;
    let sinks = Sinks { output: Box::new(std::io::sink()), errors: Box::new(std::io::sink()) };
    let evidence = launcher.start(&plan, &policy, Input::Nothing, sinks)?.wait()?;
    println!("{}", serde_json::json!({"host": host, "lacks": plan.lacks, "evidence": evidence}));
    Ok(())
}
