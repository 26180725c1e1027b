//! Who answers, and what an answer may show on the way.

use std::ops::ControlFlow;

use holdfast_types::Problem;

use crate::answer::Answer;
use crate::frame::Step;
use crate::request::Request;

/// Who is asking, as the kernel says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    pub uid: u32,
    pub pid: Option<i32>,
}

/// Told about progress; says `Break` when nobody waits for the answer any more.
pub type Watch<'a> = dyn FnMut(Step) -> ControlFlow<()> + 'a;

/// Carries requests out. Called from many threads at once; it may block.
pub trait Desk: Send + Sync + 'static {
    fn answer(&self, peer: Peer, request: Request, watch: &mut Watch<'_>) -> Result<Answer, Problem>;
}
