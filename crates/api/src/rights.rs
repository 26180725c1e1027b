//! Who may ask what: the role of a person, and the scope of a token.
//!
//! The two are independent, and both have to be enough. A person who signed in has a role alone; a token has the role of whoever made
//! it and a scope beside it, so that a script can be given less than its owner has.

use std::fmt;

/// What a person may do, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Sees.
    Viewer,
    /// Runs what is there: approves, stops, writes.
    Operator,
    /// Decides how far the machines are trusted, and destroys.
    Owner,
}

/// What a token is for, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Looks.
    Read,
    /// Writes, and makes things quieter.
    Act,
    /// Lets machines do more by themselves, says what a person has seen, and destroys.
    Manage,
}

/// What a call takes besides role and scope. Every route says it, so that a new one has to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passkey {
    /// Nothing more.
    Never,
    /// A passkey that was used for this very call. No token has one, whatever its scope.
    Always,
    /// The same, unless this field says this: the direction in which machines do less.
    Unless { field: &'static str, is: &'static str },
}

impl Role {
    pub const ALL: [Role; 3] = [Role::Viewer, Role::Operator, Role::Owner];

    pub const fn as_str(self) -> &'static str {
        match self {
            Role::Viewer => "viewer",
            Role::Operator => "operator",
            Role::Owner => "owner",
        }
    }
}

impl Scope {
    pub const ALL: [Scope; 3] = [Scope::Read, Scope::Act, Scope::Manage];

    pub const fn as_str(self) -> &'static str {
        match self {
            Scope::Read => "read",
            Scope::Act => "act",
            Scope::Manage => "manage",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
