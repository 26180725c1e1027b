//! The identity document: who an agent is meant to be. Read, checked, and changed in place under approval.
//!
//! [`Identity::load`] reads Markdown with five sections and keeps the text as it is. A change is proposed ([`Identity::propose`]), approved
//! by a person, and applied ([`Identity::apply`]) to the very document it was proposed for; lines nobody asked to change stay, whatever
//! they are.
//!
//! What holds:
//! - every change needs an approval, and the approval fits one change of one version, to the byte;
//! - a rule that says `auto` lets the control plane prepare the request by itself, and no more; boundaries and the rules of
//!   evolution are not prepared by anything but a person;
//! - nothing in the text widens what an agent may do: policy decides that, and the template says so.

mod edit;
mod parse;

use holdfast_types::{ApprovalId, Digest, Timestamp};
use serde::{Deserialize, Serialize};

pub use edit::{Diff, Edit};

/// What a new agent begins with.
pub const TEMPLATE: &str = include_str!("identity/template.md");

/// The most bytes of a document. It is read at every start of an agent; twice what is expected is too much.
pub const BYTES_MAX: usize = 40 * 1024;
/// A larger one loads with a warning.
const BYTES_EXPECTED: usize = 20 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Section {
    CorePrinciples,
    OperationalStance,
    InteractionStyle,
    Boundaries,
    SelfEvolution,
}

impl Section {
    pub const ALL: [Section; 5] = [
        Section::CorePrinciples,
        Section::OperationalStance,
        Section::InteractionStyle,
        Section::Boundaries,
        Section::SelfEvolution,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Section::CorePrinciples => "Core Principles",
            Section::OperationalStance => "Operational Stance",
            Section::InteractionStyle => "Interaction Style",
            Section::Boundaries => "Boundaries",
            Section::SelfEvolution => "Self-Evolution",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principle {
    pub name: String,
    /// Why it holds: an explanation that can be carried over to a case nobody thought of.
    pub why: String,
    pub examples: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boundary {
    pub action: String,
    pub reason: String,
    pub exceptions: Vec<String>,
}

/// How it talks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    pub concise: bool,
    pub opinionated: bool,
    pub resourceful: bool,
    pub procedural: bool,
    pub transparent: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flag {
    Concise,
    Opinionated,
    Resourceful,
    Procedural,
    Transparent,
}

impl Flag {
    pub const ALL: [Flag; 5] =
        [Flag::Concise, Flag::Opinionated, Flag::Resourceful, Flag::Procedural, Flag::Transparent];

    pub fn as_str(self) -> &'static str {
        match self {
            Flag::Concise => "concise",
            Flag::Opinionated => "opinionated",
            Flag::Resourceful => "resourceful",
            Flag::Procedural => "procedural",
            Flag::Transparent => "transparent",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval {
    Auto,
    Human,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvolutionRule {
    pub trigger: String,
    pub change: String,
    pub approval: Approval,
}

/// `1.0.0`
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
    pub patch: u32,
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum IdentityError {
    #[error("the identity document has {bytes} bytes; at most {BYTES_MAX} are taken")]
    TooLarge { bytes: usize },
    #[error("the identity document lacks the section {}", .0.title())]
    MissingSection(Section),
    #[error("the identity document has the section {} twice", .0.title())]
    DoubledSection(Section),
    #[error("the identity document has no line \"{field}: …\" at its head, or one that cannot be read")]
    Field { field: &'static str },
    #[error("{what} {name:?} has no line \"{field}: …\"")]
    Missing { what: &'static str, name: String, field: &'static str },
    #[error("the style has no flag {}", .0.as_str())]
    MissingFlag(Flag),
    #[error("the rule {name:?} asks for the approval {approval:?}, which is neither auto nor human")]
    UnknownApproval { name: String, approval: String },
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum UpdateError {
    #[error("the identity document is another one than the change was made for: look at it again")]
    Stale,
    #[error("the change is not approved, or the approval is for another one")]
    NotApproved,
    #[error("there is no {what} {name:?} to change")]
    NotFound { what: &'static str, name: String },
    #[error("{what} is empty, longer than a line may be, or breaks it")]
    BadText { what: &'static str },
    #[error("there is a {what} {name:?} already")]
    Exists { what: &'static str, name: String },
    #[error("nothing would change")]
    Nothing,
    #[error("the document would not be valid any more: {0}")]
    Invalid(#[from] IdentityError),
}

/// A document that has everything it must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    text: String,
    pub principles: Vec<Principle>,
    pub operational_stance: Vec<String>,
    pub interaction_style: Style,
    pub boundaries: Vec<Boundary>,
    pub evolution_rules: Vec<EvolutionRule>,
    pub last_modified: Timestamp,
    pub version: Version,
}

impl Identity {
    pub fn load(text: &str) -> Result<Identity, IdentityError> {
        parse::identity(text)
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// What compare-and-swap goes by.
    pub fn digest(&self) -> Digest {
        Digest::blake3(*blake3::hash(self.text.as_bytes()).as_bytes())
    }

    /// What a person should look at, and what stops nothing.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.text.len() > BYTES_EXPECTED {
            warnings.push(format!("it has {} bytes; {BYTES_EXPECTED} are expected at most", self.text.len()));
        }
        let bare = self.principles.iter().filter(|principle| principle.examples.is_empty());
        warnings.extend(bare.map(|principle| format!("the principle {:?} has no example", principle.name)));
        for (what, empty) in [
            ("principles", self.principles.is_empty()),
            ("stances", self.operational_stance.is_empty()),
            ("boundaries", self.boundaries.is_empty()),
            ("rules of evolution", self.evolution_rules.is_empty()),
        ] {
            if empty {
                warnings.push(format!("it has no {what}"));
            }
        }
        warnings
    }

    /// What the change would make of the document, for a person to look at.
    pub fn propose(&self, edits: Vec<Edit>) -> Result<Proposal, UpdateError> {
        let (text, _) = edit::edited(self, &edits)?;
        if text == self.text {
            return Err(UpdateError::Nothing);
        }
        Identity::load(&text)?;
        let base = self.digest();
        let diff = Diff::between(&self.text, &text);
        let digest = proposal_digest(&base, &text);
        Ok(Proposal { base, edits, diff, digest })
    }

    /// Carries out an approved proposal. The caller writes the text, and then logs the change.
    pub fn apply(
        &self,
        proposal: &Proposal,
        granted: &Granted,
        now: Timestamp,
    ) -> Result<Changed, UpdateError> {
        if proposal.base != self.digest() {
            return Err(UpdateError::Stale);
        }
        let (text, sections) = edit::edited(self, &proposal.edits)?;
        let digest = proposal_digest(&proposal.base, &text);
        if granted.proposal != digest || proposal.digest != digest {
            return Err(UpdateError::NotApproved);
        }
        let version = Version { patch: self.version.patch.saturating_add(1), ..self.version };
        let text = edit::stamped(&text, version, now);
        let identity = Identity::load(&text)?;
        let diff = Diff::between(&self.text, &text);
        Ok(Changed {
            from: proposal.base,
            to: identity.digest(),
            identity,
            sections,
            diff,
            approval: granted.approval,
        })
    }
}

fn proposal_digest(base: &Digest, text: &str) -> Digest {
    let mut hash = blake3::Hasher::new_derive_key("holdfast memory identity proposal v1");
    hash.update(base.to_string().as_bytes());
    hash.update(text.as_bytes());
    Digest::blake3(*hash.finalize().as_bytes())
}

/// A change that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    base: Digest,
    edits: Vec<Edit>,
    diff: Diff,
    digest: Digest,
}

impl Proposal {
    /// What an approval has to name.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    pub fn diff(&self) -> &Diff {
        &self.diff
    }

    /// Whether the control plane may put this request into the inbox by itself when the trigger fires. It never approves it.
    pub fn may_be_prepared_by(&self, identity: &Identity, trigger: &str) -> bool {
        let guarded = |edit: &Edit| matches!(edit.section(), Section::Boundaries | Section::SelfEvolution);
        let auto = |rule: &EvolutionRule| rule.trigger == trigger && rule.approval == Approval::Auto;
        identity.evolution_rules.iter().any(auto) && !self.edits.iter().any(guarded)
    }
}

/// An approval that was redeemed: which one, and for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    pub approval: ApprovalId,
    pub proposal: Digest,
}

/// A new version of the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    pub identity: Identity,
    pub from: Digest,
    pub to: Digest,
    pub sections: Vec<Section>,
    /// To be logged once the document is written.
    pub diff: Diff,
    pub approval: ApprovalId,
}

#[cfg(test)]
mod tests;
