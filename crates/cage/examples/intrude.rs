//! Sets the intruder's stage and lets it try every way out of a cage: what the tests run in a guest, whose kernel has what
//! this machine's may not have. `intrude LAUNCHER INTRUDER WORK UID GID`; prints a line for each attempt.
#![allow(clippy::print_stdout, reason = "it is what this is for")]

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdfast_cage::{
    Access, Call, Destination, Files, Identity, Input, Launcher, Machine, Plan, Policy, Sinks,
};
use holdfast_intruder::{SECRET, Stage};

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
    let [launcher, intruder, work, uid, gid] = arguments.as_slice() else { return Err("usage".into()) };
    let (uid, gid) = (uid.parse()?, gid.parse()?);
    let mut stage = Stage::set(uid, gid, Path::new(intruder))?;
    let mut policy = Policy::named("online")?;
    // An emulated machine is slow, and what is tried is not how quick it is.
    policy.limits.time = Some(Duration::from_secs(300));
    let (host, port) = stage.with_proxy(SocketAddr::from(([127, 0, 0, 1], 3128)));
    policy.destinations.push(Destination::by_hand(host, vec![port], true, "the decoy that is granted"));
    let grants = [
        (stage.readonly(), Access::Read, false),
        (stage.hidden(), Access::Hidden, false),
        (stage.work(), Access::Write, true),
        (stage.programs().to_owned(), Access::Read, true),
    ];
    for (path, access, run) in grants {
        policy.files.push(Files::by_hand(path.display().to_string(), access, run, false, "a decoy"));
    }
    let launcher = Launcher::at(launcher);
    let call = Call {
        argv: vec![stage.intruder().display().to_string(), "try".to_owned()],
        work: PathBuf::from(work),
        identity: Identity { uid, gid },
        environment: vec![(SECRET.to_owned(), "set outside".to_owned())],
    };
    let plan = Plan::of(&policy, &call, &launcher.host()?, &Machine)?;
    let kept = Kept::default();
    let sinks = Sinks { output: Box::new(kept.clone()), errors: Box::new(std::io::stderr()) };
    let input = Input::From(stage.decoys_on_a_pipe()?);
    let evidence = launcher.start(&plan, &policy, input, sinks)?.wait()?;
    std::io::stdout().write_all(&kept.0.lock().unwrap_or_else(PoisonError::into_inner))?;
    println!("{}", serde_json::to_string(&evidence)?);
    Ok(())
}
