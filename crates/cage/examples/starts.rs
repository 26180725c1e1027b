//! How long a program that does nothing takes: bare, in bubblewrap, in a cage without a cgroup and in one with it, turn by
//! turn on the machine it is run on, as medians in milliseconds. `starts LAUNCHER WORK UID ROUNDS [CGROUP]`; with a cgroup of
//! the second kind that has no controllers, what is measured is making one in it, moving into it, and removing it.
#![allow(clippy::print_stdout, reason = "it is what this is for")]

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use holdfast_cage::host::Cgroup;
use holdfast_cage::{Call, Identity, Input, Launcher, Machine, Plan, Policy, Sinks};

type Done = Result<(), Box<dyn std::error::Error>>;

fn main() -> Done {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [launcher, work, uid, rounds, parent @ ..] = arguments.as_slice() else { return Err("usage".into()) };
    let launcher = Launcher::at(launcher);
    let mut with = launcher.host()?;
    if let [parent] = parent {
        with.cgroup = Some(Cgroup { parent: PathBuf::from(parent), controllers: vec![] });
    }
    let mut without = with.clone();
    without.cgroup = None;
    let policy = Policy::named("work")?;
    let uid: u32 = uid.parse()?;
    let call = Call {
        argv: vec!["/bin/true".to_owned()],
        work: PathBuf::from(work),
        identity: Identity { uid, gid: uid },
        environment: vec![],
    };
    let caged = |host| -> Done {
        let plan = Plan::of(&policy, &call, host, &Machine)?;
        let sinks = Sinks { output: Box::new(std::io::sink()), errors: Box::new(std::io::sink()) };
        launcher.start(&plan, &policy, Input::Nothing, sinks)?.wait()?;
        Ok(())
    };
    let started =
        |program: &str, with: &[&str]| -> Done { Ok(Command::new(program).args(with).status().map(drop)?) };
    let wrap = ["--unshare-all", "--die-with-parent", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"];
    let wrap = [&wrap[..], &["--ro-bind", "/usr", "/usr", "--symlink", "usr/lib64", "/lib64"]].concat();
    let wrap = [&wrap[..], &["--symlink", "usr/lib", "/lib", "/usr/bin/true"]].concat();
    let mut took: [(&str, Vec<f64>); 4] =
        [("bare", vec![]), ("bubblewrap", vec![]), ("without a cgroup", vec![]), ("with a cgroup", vec![])];
    for _ in 0..rounds.parse::<usize>()? {
        for (name, times) in &mut took {
            let began = Instant::now();
            match *name {
                "bare" => started("/bin/true", &[])?,
                "bubblewrap" => started("bwrap", &wrap)?,
                "without a cgroup" => caged(&without)?,
                _ => caged(&with)?,
            }
            times.push(began.elapsed().as_secs_f64() * 1e3);
        }
    }
    for (name, mut times) in took {
        times.sort_by(f64::total_cmp);
        println!("{name}: {:.1} ms", times[times.len() / 2]);
    }
    println!("cgroup: {:?}", with.cgroup);
    Ok(())
}
