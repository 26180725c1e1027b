//! Keyrings of the kernel, which know nothing of namespaces for files and processes.
//!
//! Keys go to the keyring of the process, which ends with it. Where a key is looked for that nobody has, ENOKEY says
//! that the call came through.

use crate::judge::reached;
use crate::raw::{Arg, NOWHERE, ROOM, ask};

const PROCESS_KEYRING: i32 = -2;
const SESSION_KEYRING: i32 = -3;
const USER_KEYRING: i32 = -4;

const GET_KEYRING_ID: i32 = 0;
const JOIN_SESSION: i32 = 1;
const SEARCH: i32 = 10;
const READ: i32 = 11;
const GET_PERSISTENT: i32 = 22;

attempts! { Keyrings:
    "add-key" [Seccomp] HARMLESS
    "Adds a key to the keyring of its process."
    => |_d| reached(ask!(ADD_KEY, c"user", c"intruder", c"x", 1, PROCESS_KEYRING));

    // Without a text for the helper program, so that none is started.
    "request-key" [Seccomp] HARMLESS
    "Requests a key that nobody has."
    => |_d| reached(ask!(REQUEST_KEY, c"user", c"intruder-no-such-key", NOWHERE, 0));

    "session-keyring-number" [Seccomp] HARMLESS
    "Asks for the number of the session's keyring, which the host may share."
    => |_d| reached(ask!(KEYCTL, GET_KEYRING_ID, SESSION_KEYRING, 0));

    "read-session-keyring" [Seccomp] HARMLESS
    "Reads the list of keys of the session."
    => |_d| {
        reached(ask!(KEYCTL, READ, SESSION_KEYRING, Arg::Room, ROOM))
    };

    "join-session-keyring" [Seccomp] HARMLESS
    "Joins a new session keyring, for the process of the attempt alone."
    => |_d| reached(ask!(KEYCTL, JOIN_SESSION, NOWHERE));

    "search-user-keyring" [Seccomp] HARMLESS
    "Searches the keyring of the user for a key that nobody has."
    => |_d| reached(ask!(KEYCTL, SEARCH, USER_KEYRING, c"user", c"intruder-no-such-key", 0));

    // To be linked to no keyring: EINVAL, before it is made, so that none stays behind.
    "persistent-keyring" [Seccomp] HARMLESS
    "Asks for the keyring of its user that outlives sessions."
    => |_d| reached(ask!(KEYCTL, GET_PERSISTENT, -1, 0));
}
