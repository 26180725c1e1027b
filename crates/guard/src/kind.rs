//! What a finding can be of: its name, what replaces it, and whether the whole text goes with it.

/// Secrets open doors; personal data tells of people. A scan of a repository looks for the first, what is remembered of
/// a conversation is freed of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    Secret,
    Personal,
}

/// What is done with a text in which it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The span is replaced.
    Replace,
    /// Nothing of the text is kept.
    Block,
}

/// One kind of thing the guard finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The name in records, findings and exceptions: `api_key_github`.
    pub id: String,
    /// What it is, for people: "GitHub personal access token".
    pub what: String,
    /// What stands in its place afterwards. Literal: nothing in it is ever expanded.
    pub replacement: String,
    pub family: Family,
    pub action: Action,
}
