//! Log entries of a target, and which of them say that something died for want of memory.
//!
//! The kernel reports its kills at priority 3, so entries up to that priority are kept. A kill is known by systemd's
//! message id or by how the kernel's own line begins; text elsewhere in a message proves nothing, since anybody may
//! write it. The cgroup's own count (`parse_oom_kills`) is the better witness where it can be read.

use serde::{Deserialize, Serialize};

use super::Label;
use crate::setting::UnitName;

/// More entries of one collection are counted, not kept.
pub const ERRORS_PER_SNAPSHOT_MAX: usize = 50;

/// Longer messages are cut: one line must not be most of a snapshot.
const MESSAGE_CHARS_MAX: usize = 500;

/// `MESSAGE_ID` under which systemd reports that a process of a unit was killed by the kernel's OOM killer.
const UNIT_OOM: &str = "fe6faa94e7774663a0da52717891d8ef";

/// How the kernel begins the lines that report a kill, in the spellings of kernels since 4.19.
const KERNEL_OOM: [&str; 3] =
    ["oom-kill:constraint=", "Memory cgroup out of memory: Kill", "Out of memory: Kill"];

/// One log entry of the target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogEntry {
    /// 0 is the gravest, as in syslog.
    pub priority: u8,
    pub unit: Option<UnitName>,
    /// Whether the kernel itself wrote it; a process cannot claim this.
    pub from_kernel: bool,
    pub message_id: Option<Label>,
    pub message: String,
}

/// What an entry is worth to the watcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogKind {
    Oom,
    Error,
}

impl LogEntry {
    /// What the entry is; none where it need not be kept.
    pub fn kind(&self) -> Option<LogKind> {
        let by_systemd = self.message_id.as_ref().is_some_and(|id| id.as_str() == UNIT_OOM);
        let by_kernel = self.from_kernel && KERNEL_OOM.iter().any(|begin| self.message.starts_with(begin));
        if by_systemd || by_kernel {
            Some(LogKind::Oom)
        } else {
            (self.priority <= 3).then_some(LogKind::Error)
        }
    }

    /// Whose entry it is: as labelled, or for a kernel's kill the unit its cgroup belongs to.
    pub fn subject(&self) -> Option<UnitName> {
        if !self.from_kernel {
            return self.unit.clone();
        }
        let path = self.message.split(',').find_map(|field| field.strip_prefix("task_memcg="))?;
        path.rsplit('/').find_map(|part| part.parse().ok())
    }

    pub(super) fn shortened(mut self) -> LogEntry {
        if let Some((end, _)) = self.message.char_indices().nth(MESSAGE_CHARS_MAX) {
            self.message.truncate(end);
        }
        self
    }
}
