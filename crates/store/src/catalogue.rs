//! The databases of a house: who owns each, and what would be lost with it.

use crate::schema::Truth;

/// One database of the house.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// In the state directory.
    pub file: &'static str,
    /// The room that alone opens it.
    pub owner: &'static str,
    pub truth: Truth,
    /// What it is the truth of, or what it is made from.
    pub of: &'static str,
    pub backed_up: bool,
}

/// All of them. A file that is not listed here is none of ours.
pub const fn databases() -> &'static [Listed] {
    &[
        Listed {
            file: "index.db",
            owner: "store",
            truth: Truth::Projection,
            of: "projections of the journal; `holdfast rebuild` makes them again",
            backed_up: false,
        },
        Listed {
            file: "metrics.db",
            owner: "store",
            truth: Truth::Own,
            of: "samples of what was measured, as far back as retention goes",
            backed_up: true,
        },
        Listed {
            file: "gateway.db",
            owner: "gateway",
            truth: Truth::Own,
            of: "accounts, passkeys and sessions",
            backed_up: true,
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_its_own_truth_is_backed_up_and_a_projection_is_not() {
        for listed in databases() {
            assert_eq!(listed.backed_up, listed.truth == Truth::Own, "{}", listed.file);
        }
    }
}
