//! Why an approval does not count. Each is a different thing for a person to do.

use holdfast_keys::{Distrust, DocumentError, KeyId, Refusal as SignatureRefusal, Role};
use holdfast_types::{ApprovalId, Digest, Exit, Origin, Timestamp};

use crate::life::State;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("there is no ask {ask}")]
    UnknownAsk { ask: ApprovalId },
    #[error("{ask} was asked for {asked}, and this is {found}")]
    ChangedAction { ask: ApprovalId, asked: Digest, found: Digest },
    #[error("{ask} has not been approved")]
    NotApproved { ask: ApprovalId },
    #[error("{ask} was rejected")]
    Rejected { ask: ApprovalId },
    #[error("{ask} was withdrawn by whoever asked")]
    Withdrawn { ask: ApprovalId },
    #[error("{ask} expired at {at}")]
    Late { ask: ApprovalId, at: Timestamp },
    #[error("the approval of {ask} was used before, in entry {seq}")]
    SecondUse { ask: ApprovalId, seq: u64 },
    #[error("{ask} is {state} already")]
    AlreadyDecided { ask: ApprovalId, state: State },
    #[error("it is not an approval: {why}")]
    Malformed { why: String },
    #[error("it is signed by {key}, which is not in the trust set")]
    UnknownKey { key: KeyId },
    #[error("it is signed by {key}, a key for {found}, and approvals need one for {}", Role::Approvals)]
    WrongRole { key: KeyId, found: Role },
    #[error("its key was not valid then: {why}")]
    KeyNotValid { why: Distrust },
    #[error("its key counts for nothing any more: {why}")]
    KeyRevoked { why: Distrust },
    #[error("the signature by {key} does not fit what it stands under")]
    DoesNotFit { key: KeyId },
    #[error("it is for {found}, and this is {own}")]
    ForeignOrigin { found: Origin, own: Origin },
    #[error("the clock says {at}, and it is not known to be right")]
    ClockUnsure { at: Timestamp },
    #[error("the clock says {now}, and this is from {at}")]
    ClockBehind { at: Timestamp, now: Timestamp },
}

impl Refusal {
    /// Which number, exit code and next step belong to it. What was left untouched is the same for all.
    pub(crate) fn explain(&self) -> (u16, Exit, &'static str) {
        match self {
            Refusal::UnknownAsk { .. } => {
                (1, Exit::Usage, "See which there are: `holdfast approvals list --all`.")
            }
            Refusal::ChangedAction { .. } => {
                (2, Exit::Negative, "An approval fits one action to the byte; ask again for this one.")
            }
            Refusal::NotApproved { .. } => (
                3,
                Exit::NeedsApproval,
                "Look at it with `holdfast approvals show`, then approve or reject it.",
            ),
            Refusal::Rejected { .. } => {
                (4, Exit::Negative, "See why with `holdfast approvals show`; what is wanted must change.")
            }
            Refusal::Withdrawn { .. } => (5, Exit::Negative, "Nothing needs to be decided any more."),
            Refusal::Late { .. } => {
                (6, Exit::Negative, "Whoever wanted it has to ask again, and then it can be approved.")
            }
            Refusal::SecondUse { .. } => {
                (7, Exit::Negative, "An approval is used once; whoever wants it again has to ask again.")
            }
            Refusal::AlreadyDecided { .. } => {
                (8, Exit::Negative, "The first verdict stands: `holdfast approvals show` has it.")
            }
            Refusal::Malformed { .. } => (9, Exit::Negative, "Make it with `holdfast approve`."),
            Refusal::UnknownKey { .. } => {
                (10, Exit::Refused, "If you did not sign it, ask who did: only the key in etc/keys approves.")
            }
            Refusal::WrongRole { .. } => (
                11,
                Exit::Refused,
                "If you did not sign it, ask who did: that key must never sign approvals.",
            ),
            Refusal::KeyNotValid { .. } => {
                (12, Exit::Refused, "Sign it again with the key that is valid now; compare the clocks.")
            }
            Refusal::KeyRevoked { .. } => {
                (13, Exit::Refused, "Do not use it; ask again and approve with the new key.")
            }
            Refusal::DoesNotFit { .. } => {
                (14, Exit::Refused, "It was changed after it was signed; ask who had it in between.")
            }
            Refusal::ForeignOrigin { .. } => {
                (15, Exit::Refused, "Approve it on the instance that asked; check HOLDFAST_HOME.")
            }
            Refusal::ClockUnsure { .. } => {
                (16, Exit::CouldNotCheck, "Set the clock; rejecting works meanwhile.")
            }
            Refusal::ClockBehind { .. } => {
                (17, Exit::CouldNotCheck, "Set the clock, or ask again if it was ahead before.")
            }
        }
    }

    /// One of each, in the order of their numbers.
    pub(crate) fn samples() -> Vec<Refusal> {
        let ask = ApprovalId::from(ulid::Ulid(7));
        let (asked, found) = (Digest::sha256([1; 32]), Digest::sha256([2; 32]));
        let key = holdfast_keys::SecretKey::from_seed(&[1; 32]).id();
        let at = Timestamp::EPOCH;
        let origins = "holdfast/web-2".parse().into_iter().zip("holdfast/web-1".parse());
        let mut all = vec![
            Refusal::UnknownAsk { ask },
            Refusal::ChangedAction { ask, asked, found },
            Refusal::NotApproved { ask },
            Refusal::Rejected { ask },
            Refusal::Withdrawn { ask },
            Refusal::Late { ask, at },
            Refusal::SecondUse { ask, seq: 41 },
            Refusal::AlreadyDecided { ask, state: State::Rejected },
            Refusal::Malformed { why: "missing field `digest`".into() },
            Refusal::UnknownKey { key },
            Refusal::WrongRole { key, found: Role::Log },
            Refusal::KeyNotValid { why: Distrust::Expired { key, until: at, at } },
            Refusal::KeyRevoked {
                why: Distrust::Revoked { key, at, reason: "the laptop was stolen".into() },
            },
            Refusal::DoesNotFit { key },
        ];
        all.extend(origins.map(|(found, own)| Refusal::ForeignOrigin { found, own }));
        all.extend([Refusal::ClockUnsure { at }, Refusal::ClockBehind { at, now: at }]);
        all
    }
}

impl From<Distrust> for Refusal {
    fn from(why: Distrust) -> Refusal {
        match why {
            Distrust::Unknown { key } => Refusal::UnknownKey { key },
            Distrust::WrongRole { key, actual, .. } => Refusal::WrongRole { key, found: actual },
            Distrust::CannotJudge { key, role, .. } => Refusal::WrongRole { key, found: role },
            Distrust::Revoked { .. } => Refusal::KeyRevoked { why },
            Distrust::NotYetValid { .. } | Distrust::Expired { .. } | Distrust::Retired { .. } => {
                Refusal::KeyNotValid { why }
            }
        }
    }
}

impl From<DocumentError> for Refusal {
    fn from(e: DocumentError) -> Refusal {
        let DocumentError::NoneAcceptable { refused } = e else {
            return Refusal::Malformed { why: e.to_string() };
        };
        match refused.into_iter().next() {
            Some((_, SignatureRefusal::Distrusted(why))) => why.into(),
            Some((key, SignatureRefusal::OtherRole { found, .. })) => Refusal::WrongRole { key, found },
            Some((key, SignatureRefusal::DoesNotFit)) => Refusal::DoesNotFit { key },
            None => Refusal::Malformed { why: "it is not signed".into() },
        }
    }
}
