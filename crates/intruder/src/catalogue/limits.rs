//! Limits of resources: raising them, and taking more than one's share.
//!
//! Everything is asked for the process of the attempt alone.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::judge::{Tried, done, reached, refused, step, through};
use crate::raw::{ask, pin_memory, words32, words64};

/// More than this pinned by one process is as good as no limit.
const PINNED_BYTES_MAX: u64 = 64 * 1024 * 1024;

attempts! { Limits:
    "raise-limit-of-processes" [Limits Kernel] HARMLESS
    "Raises how many processes it may have."
    => |_d| raise(Resource::Nproc);

    "raise-limit-of-queues" [Limits Kernel] HARMLESS
    "Raises how many bytes it may have in message queues."
    => |_d| raise(Resource::Msgqueue);

    "raise-limit-of-open-files" [Limits Kernel] HARMLESS
    "Raises how many files it may have open."
    => |_d| raise(Resource::Nofile);

    "raise-limit-of-file-size" [Limits Kernel] HARMLESS
    "Raises how large a file it may write."
    => |_d| raise(Resource::Fsize);

    "raise-limit-of-core-size" [Limits] HARMLESS
    "Raises how large an image of its memory may be written."
    => |_d| match getrlimit(Resource::Core).maximum {
        // One byte is no image, and also keeps the kernel from handing one to a program.
        Some(0 | 1) => raise(Resource::Core),
        _ => Ok(through("an image may be written")),
    };

    "raise-limit-of-pinned-memory" [Limits Kernel] HARMLESS
    "Raises how much memory it may pin."
    => |_d| raise(Resource::Memlock);

    "raise-limit-of-priority" [Kernel] HARMLESS
    "Raises how high its priority may be."
    => |_d| raise(Resource::Nice);

    "raise-limit-of-real-time-priority" [Kernel] HARMLESS
    "Raises how high its real-time priority may be."
    => |_d| raise(Resource::Rtprio);

    "raise-own-priority" [Capabilities UserNamespace] HARMLESS
    "Gives itself a higher priority."
    => |_d| {
        let now = 20 - step(ask!(GETPRIORITY, libc::PRIO_PROCESS as i32, 0))?.value;
        if now <= -20 {
            return Ok(through("it is the highest"));
        }
        done(ask!(SETPRIORITY, libc::PRIO_PROCESS as i32, 0, now - 1), "it was raised")
    };

    "run-in-real-time" [Capabilities UserNamespace] HARMLESS
    "Asks to run before every ordinary process."
    => |_d| reached(ask!(SCHED_SETSCHEDULER, 0, libc::SCHED_FIFO, &words32(&[1])));

    // A tenth of a hundredth of a second.
    "run-by-deadline" [Capabilities UserNamespace] HARMLESS
    "Asks for a guaranteed share of the processor."
    => |_d| {
        let (size, deadline_policy) = (48, 6);
        let share = words64(&[size | deadline_policy << 32, 0, 0, 1_000_000, 10_000_000, 10_000_000]);
        reached(ask!(SCHED_SETATTR, 0, &share, 0))
    };

    "real-time-disk-priority" [Capabilities UserNamespace] HARMLESS
    "Asks to reach the disk before every ordinary process."
    => |_d| reached(ask!(IOPRIO_SET, 1, 0, 1 << 13));

    "pin-memory-beyond-limit" [Limits Kernel] HARMLESS
    "Pins more memory than it may."
    => |_d| match getrlimit(Resource::Memlock).maximum {
        Some(limit) if limit <= PINNED_BYTES_MAX => {
            done(pin_memory(usize::try_from(limit).unwrap_or(0) + 64 * 1024), "it is pinned")
        }
        _ => Ok(through("there is no limit to speak of")),
    };
}

/// One above the hard limit. Where there is none, there is nothing to raise.
fn raise(resource: Resource) -> Tried {
    let Some(hard) = getrlimit(resource).maximum else {
        return Ok(through("there is no limit"));
    };
    match setrlimit(resource, Rlimit { current: Some(hard + 1), maximum: Some(hard + 1) }) {
        Ok(()) => Ok(through(format!("it is {} now", hard + 1))),
        Err(e) => Ok(refused(crate::errno::Errno::from(e).to_string())),
    }
}
