//! Who may do what. A role is a person's, a scope a token's; a token never does more than the person who made it could
//! do at that moment.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("there is no such role or scope")]
pub struct NotARole;

/// What a person may do; each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Looks.
    Viewer,
    /// Approves, rejects, rolls back, pauses.
    Operator,
    /// People, tokens, settings, erasing and forgetting.
    Owner,
}

/// What a token may do; each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    Read,
    Act,
    Manage,
}

impl Role {
    pub const ALL: [Role; 3] = [Role::Viewer, Role::Operator, Role::Owner];

    pub fn as_str(self) -> &'static str {
        match self {
            Role::Viewer => "viewer",
            Role::Operator => "operator",
            Role::Owner => "owner",
        }
    }
}

impl Scope {
    pub const ALL: [Scope; 3] = [Scope::Read, Scope::Act, Scope::Manage];

    pub fn as_str(self) -> &'static str {
        match self {
            Scope::Read => "read",
            Scope::Act => "act",
            Scope::Manage => "manage",
        }
    }

    /// The role it takes to give this away, and the most that a token with it can do.
    pub fn role(self) -> Role {
        match self {
            Scope::Read => Role::Viewer,
            Scope::Act => Role::Operator,
            Scope::Manage => Role::Owner,
        }
    }
}

impl FromStr for Role {
    type Err = NotARole;

    fn from_str(text: &str) -> Result<Role, NotARole> {
        Role::ALL.into_iter().find(|role| role.as_str() == text).ok_or(NotARole)
    }
}

impl FromStr for Scope {
    type Err = NotARole;

    fn from_str(text: &str) -> Result<Scope, NotARole> {
        Scope::ALL.into_iter().find(|scope| scope.as_str() == text).ok_or(NotARole)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_and_scopes_are_ordered_alike_and_read_back() {
        for (role, scope) in Role::ALL.into_iter().zip(Scope::ALL) {
            assert_eq!(scope.role(), role);
            assert_eq!(role.to_string().parse(), Ok(role));
            assert_eq!(scope.to_string().parse(), Ok(scope));
        }
        assert!(Role::Viewer < Role::Operator && Role::Operator < Role::Owner);
        assert_eq!("root".parse::<Role>(), Err(NotARole));
    }
}
