//! Calls the filter refused: written down, and refused.

use std::collections::BTreeMap;
use std::os::fd::{AsFd as _, OwnedFd};

use holdfast_cage::calls::name_of;
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::sys;

/// No more kinds are kept apart: there are not so many, and numbers nobody has could be made up without end.
const MOST_KINDS: usize = 512;

#[derive(Debug, Default)]
pub(crate) struct Refusals {
    listener: Option<OwnedFd>,
    /// By name, how often.
    pub(crate) counted: BTreeMap<String, u64>,
}

impl Refusals {
    pub(crate) fn listen(&mut self, listener: Option<OwnedFd>) {
        self.listener = listener;
    }

    pub(crate) fn listener(&self) -> Option<&OwnedFd> {
        self.listener.as_ref()
    }

    /// Takes one call that waits, and refuses it.
    fn answer(&mut self) {
        let Some(listener) = &self.listener else { return };
        let Ok(Some(asked)) = sys::next_refused(listener.as_fd()) else { return };
        sys::refuse(listener.as_fd(), asked, libc::EPERM);
        let name = name_of(asked.number).map_or_else(|| format!("call {}", asked.number), str::to_owned);
        if self.counted.len() < MOST_KINDS || self.counted.contains_key(&name) {
            *self.counted.entry(name).or_default() += 1;
        }
    }

    /// Those that wait, up to a number.
    pub(crate) fn answer_some(&mut self, most: usize) {
        for _ in 0..most {
            let Some(listener) = &self.listener else { return };
            let mut poll = [PollFd::new(listener, PollFlags::IN)];
            let _ = rustix::event::poll(&mut poll, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
            if !poll[0].revents().contains(PollFlags::IN) {
                return;
            }
            self.answer();
        }
    }
}
