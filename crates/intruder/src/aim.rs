//! Aiming at the decoy process, and at nobody who happens to have its number inside the cage.

use crate::judge::{Tried, could_not, refused};
use crate::raw::ask;
use crate::{Decoys, Outcome};

/// Lets `act` try something with the number of the decoy process. If it gets through, the process has to be the
/// decoy: that one leads its own session, which none of the intruder's own processes does.
pub(crate) fn at_process(decoys: &Decoys, act: impl FnOnce(i32) -> Tried) -> Tried {
    let process = *decoys.process()?;
    if process <= 1 {
        return Err(could_not("the decoy `process` is not the number of a decoy"));
    }
    match act(process)? {
        Outcome::Through { .. } if leads_no_session(process) => {
            Ok(refused("a process inside has that number"))
        }
        outcome => Ok(outcome),
    }
}

/// Where the kernel does not tell, the process counts as the decoy: rather an alarm too many.
fn leads_no_session(process: i32) -> bool {
    matches!(ask!(GETSID, process), Ok(session) if session.value != i64::from(process))
}
