//! The clock of the machine, which has no namespace of its own.
//!
//! Every value is one that the kernel turns down after it has asked for the privilege.

use crate::judge::reached;
use crate::raw::{Arg, NOWHERE, ask, words32, words64};

/// ADJ_TICK with a length of tick of zero, which is out of range.
const IMPOSSIBLE_TICK: [u32; 1] = [0x4000];

attempts! { Time:
    // To 1970, which is before the machine was started: EINVAL, because its running time would be negative.
    "set-clock" [Seccomp Capabilities UserNamespace] DOUBTFUL
    "Sets the clock of the machine."
    => |_d| reached(ask!(CLOCK_SETTIME, libc::CLOCK_REALTIME, &words64(&[0, 0])));

    // A zone that is ten weeks off, and no time: EINVAL.
    "set-time-of-day" [Seccomp Capabilities UserNamespace] DOUBTFUL
    "Sets the time zone of the kernel."
    => |_d| reached(ask!(SETTIMEOFDAY, NOWHERE, &words32(&[100_000, 0])));

    "adjust-clock" [Seccomp Capabilities UserNamespace] DOUBTFUL
    "Makes the clock go faster or slower."
    => |_d| {
        let change = words32(&IMPOSSIBLE_TICK);
        reached(ask!(ADJTIMEX, Arg::Filled(&change)))
    };

    "adjust-named-clock" [Seccomp Capabilities UserNamespace] DOUBTFUL
    "Makes a clock that is chosen by its number go faster or slower."
    => |_d| {
        let change = words32(&IMPOSSIBLE_TICK);
        reached(ask!(CLOCK_ADJTIME, libc::CLOCK_REALTIME, Arg::Filled(&change)))
    };

    // Made and not armed.
    "alarm-that-wakes-machine" [Capabilities UserNamespace] HARMLESS
    "Makes a timer that would wake the machine from sleep."
    => |_d| reached(ask!(TIMERFD_CREATE, libc::CLOCK_REALTIME_ALARM, 0));
}
