//! Signals to processes outside. The signal is number 0, which is permitted or refused and never delivered.

use crate::aim::at_process;
use crate::judge::{done, step};
use crate::raw::{NOWHERE, ask, words32};

attempts! { Signals:
    "signal-decoy" [PidNamespace Landlock] HARMLESS
    "Sends a signal to a process outside by its number."
    => |d| at_process(d, |pid| done(ask!(KILL, pid, 0), "it can be signalled"));

    "signal-group-of-decoy" [PidNamespace Landlock] HARMLESS
    "Sends a signal to the group of a process outside."
    => |d| at_process(d, |pid| done(ask!(KILL, -pid, 0), "it can be signalled"));

    // The signal reaches every process that has a number here. So it reaches the decoy if that has one.
    "signal-everyone" [PidNamespace Landlock] HARMLESS
    "Sends a signal to every process it can reach, which must not be one outside."
    => |d| at_process(d, |pid| {
        step(ask!(KILL, -1, 0))?;
        done(ask!(KILL, pid, 0), "a process outside is among those reached")
    });

    "signal-thread-of-decoy" [PidNamespace Landlock] HARMLESS
    "Sends a signal to a thread of a process outside."
    => |d| at_process(d, |pid| done(ask!(TGKILL, pid, pid, 0), "it can be signalled"));

    "signal-decoy-as-thread" [PidNamespace Landlock] HARMLESS
    "Sends a signal to a process outside by the number of its thread alone."
    => |d| at_process(d, |pid| done(ask!(TKILL, pid, 0), "it can be signalled"));

    "signal-decoy-by-handle" [PidNamespace Landlock] HARMLESS
    "Sends a signal to a process outside by a handle of it."
    => |d| at_process(d, |pid| {
        let process = step(ask!(PIDFD_OPEN, pid, 0))?;
        done(ask!(PIDFD_SEND_SIGNAL, process.descriptor(), 0, NOWHERE, 0), "it can be signalled")
    });

    "queue-signal-to-decoy" [PidNamespace Landlock] HARMLESS
    "Queues a signal with a value for a process outside."
    => |d| at_process(d, |pid| done(ask!(RT_SIGQUEUEINFO, pid, 0, &queued()), "it can be signalled"));

    "queue-signal-to-thread-of-decoy" [PidNamespace Landlock] HARMLESS
    "Queues a signal with a value for a thread of a process outside."
    => |d| at_process(d, |pid| {
        done(ask!(RT_TGSIGQUEUEINFO, pid, pid, 0, &queued()), "it can be signalled")
    });
}

/// Number 0, no error, code SI_QUEUE: 128 bytes.
fn queued() -> Vec<u8> {
    let mut info = [0; 32];
    info[2] = libc::SI_QUEUE.cast_unsigned();
    words32(&info)
}
