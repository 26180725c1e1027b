//! Rows of events in the notes: a time, a kind, a message.

use holdfast_types::Timestamp;

use super::escape;

pub(super) const HEAD: [&str; 2] = ["| time | kind | message |", "|---|---|---|"];

/// Which part of the product wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RowKind {
    /// The identity document was changed.
    Identity,
    /// The context reached a level.
    Context,
    MetaMonitor,
    /// Recovery went on with less than everything.
    Degraded,
    RepairRequest,
    BloatAudit,
}

impl RowKind {
    pub const ALL: [RowKind; 6] = [
        RowKind::Identity,
        RowKind::Context,
        RowKind::MetaMonitor,
        RowKind::Degraded,
        RowKind::RepairRequest,
        RowKind::BloatAudit,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            RowKind::Identity => "identity",
            RowKind::Context => "context",
            RowKind::MetaMonitor => "meta-monitor",
            RowKind::Degraded => "degraded",
            RowKind::RepairRequest => "repair-request",
            RowKind::BloatAudit => "bloat-audit",
        }
    }

    /// The section its rows stand in. None of them is where memory stands.
    pub fn heading(self) -> &'static str {
        match self {
            RowKind::Identity | RowKind::Context => "## Events",
            RowKind::MetaMonitor => "## Monitor",
            RowKind::Degraded => "## Recovery",
            RowKind::RepairRequest => "## Repair Requests",
            RowKind::BloatAudit => "## Bloat Audits",
        }
    }

    /// What the message is marked with, so that it is recognised anywhere.
    fn mark(self) -> &'static str {
        match self {
            RowKind::Identity | RowKind::Context | RowKind::BloatAudit => "",
            RowKind::MetaMonitor => "[META-MONITOR] ",
            RowKind::Degraded => "[DEGRADED] ",
            RowKind::RepairRequest => "[REPAIR REQUEST] ",
        }
    }
}

/// One event. The message is redacted by whoever hands it in, and escaped here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub at: Timestamp,
    pub kind: RowKind,
    pub message: String,
}

impl Row {
    pub(super) fn render(&self) -> String {
        format!(
            "| {} | {} | {}{} |",
            self.at,
            self.kind.as_str(),
            self.kind.mark(),
            escape::cell(&self.message)
        )
    }

    pub(super) fn parse(line: &str) -> Option<Row> {
        let rest = line.strip_prefix("| ")?.strip_suffix(" |")?;
        let (at, rest) = rest.split_once(" | ")?;
        let (kind, message) = rest.split_once(" | ")?;
        let kind = RowKind::ALL.into_iter().find(|known| known.as_str() == kind)?;
        let message = escape::uncell(message.strip_prefix(kind.mark())?)?;
        Some(Row { at: at.parse().ok()?, kind, message })
    }
}
