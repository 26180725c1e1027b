//! Terminals: typing on the one it was started from would be typing as its user.

use std::io::IsTerminal;
use std::os::fd::AsRawFd;

use crate::errno::Errno;
use crate::files::open;
use crate::judge::{Tried, could_not, reached, refused, through};
use crate::raw::{ask, in_child};

attempts! { Terminal:
    // On a pipe, which is no terminal: ENOTTY says that the request came past the filter. Should the standard input
    // be a terminal, nothing is typed on it.
    "type-on-terminal" [Seccomp] HARMLESS
    "Asks to put a character into the input of a terminal."
    => |_d| on_a_pipe(|pipe| reached(ask!(IOCTL, pipe, libc::TIOCSTI as i64, c"x")));

    "paste-on-console" [Seccomp] HARMLESS
    "Asks the console to paste what is selected on it."
    => |_d| on_a_pipe(|pipe| reached(ask!(IOCTL, pipe, libc::TIOCLINUX as i64, c"\x03")));

    "take-console-output" [Seccomp] HARMLESS
    "Asks for what is printed on the console."
    => |_d| on_a_pipe(|pipe| reached(ask!(IOCTL, pipe, libc::TIOCCONS as i64, 0)));

    "set-discipline-of-line" [Seccomp] HARMLESS
    "Asks to handle a terminal's line by another driver of the kernel."
    => |_d| on_a_pipe(|pipe| reached(ask!(IOCTL, pipe, libc::TIOCSETD as i64, &crate::raw::words32(&[1]))));

    "hold-terminal-of-caller" [Descriptors] HARMLESS
    "Looks for a terminal among its standard streams."
    => |_d| {
        let standard = [std::io::stdin().is_terminal(), std::io::stdout().is_terminal(), std::io::stderr().is_terminal()];
        let held = standard.iter().position(|is_terminal| *is_terminal);
        Ok(held.map_or_else(|| refused("none is one"), |which| through(format!("stream {which} is one"))))
    };

    // On whatever its standard input is. Stealing takes a privilege, and where there is no terminal there is nothing
    // to steal; nor does it come to that.
    "steal-controlling-terminal" [Seccomp Descriptors] HARMLESS
    "Takes the terminal on its standard input away from the session that has it."
    => |_d| steal();

    "open-controlling-terminal" [Descriptors View] HARMLESS
    "Opens the terminal that it was started from."
    => |_d| open("/dev/tty");

    "open-terminal-of-host" [View Landlock] HARMLESS
    "Opens a terminal of the host by its path."
    => |d| open(d.terminal()?);
}

/// In a child, because only one that leads no group yet can begin a session, and only that can have a terminal.
fn steal() -> Tried {
    let ended = in_child(|| {
        let _ = rustix::process::setsid();
        ask!(IOCTL, 0, libc::TIOCSCTTY as i64, 1).map_or_else(|e| e.0, |_| 0)
    })?;
    Ok(match ended.exit_status() {
        Some(0) => through("it was taken"),
        Some(error) => refused(Errno(error).to_string()),
        None => refused("killed by the system-call filter"),
    })
}

fn on_a_pipe(act: impl FnOnce(i32) -> Tried) -> Tried {
    let (read, _write) = rustix::pipe::pipe().map_err(|_| could_not("making a pipe failed"))?;
    act(read.as_raw_fd())
}
