//! One request, carried out.

use std::sync::PoisonError;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use holdfast_control::{
    Answer, Append, Appended, Checkpoint, Content, Cosigned, Desk, PauseState, Peer, Request, Severity,
    Subject, Watch, WitnessRequest,
};
use holdfast_journal::{self as journal, Draft};
use holdfast_notice::Notice;
use holdfast_types::{Actor, Problem};
use serde_json::Map;

use super::Office;
use super::approvals::in_full;
use crate::autonomy::{Note, Standing, paused, resumed};
use crate::house::{this_user, user};
use crate::problem::{CliError, Failure, Result};

impl Desk for Office {
    fn answer(&self, peer: Peer, request: Request, watch: &mut Watch<'_>) -> Result<Answer, Problem> {
        let answer = match request {
            // Whoever hands in an approval is named by the kernel and not by the approval.
            Request::Verdict { document } => user(peer.uid).and_then(|from| self.verdict(&document, &from)),
            request => self.carry_out(request, watch),
        };
        answer.map_err(|failure| match failure {
            Failure::Problem(problem) => *problem,
            // Nobody's output is written here.
            Failure::ReaderLeft => CliError::Interrupted { what: "the request" }.problem(),
        })
    }
}

impl Office {
    pub(crate) fn carry_out(&self, request: Request, watch: &mut Watch<'_>) -> Result<Answer> {
        match request {
            Request::Status {} => Ok(Answer::Status(Box::new(self.status()?))),
            Request::Append(append) => self.append(*append),
            Request::Checkpoint {} => self.checkpoint(),
            Request::WitnessRequest { witness } => {
                let request = self.journal.witness_request(&witness)?;
                let (old_size, request) = (request.old_size, request.to_text());
                Ok(Answer::WitnessRequest(WitnessRequest { old_size, request }))
            }
            Request::AcceptCosigned { note } => {
                let taken = self.journal.accept_cosigned(note.as_bytes(), &self.house.trust()?)?;
                let (at, size) = (taken.at, taken.size);
                Ok(Answer::Cosigned(Cosigned { witness: taken.witness.to_string(), at, size }))
            }
            Request::Erase { seq, actor } => Ok(self.appended(self.journal.erase(seq, &actor)?)),
            Request::Pause { since, actor, reason } => {
                Ok(Answer::Paused(self.pause(&Note::new(since, actor, reason.as_deref()))?))
            }
            Request::Resume { actor, reason } => self.resume(&actor, reason),
            Request::Rebuild {} => Ok(Answer::Rebuilt(self.rebuild(watch)?)),
            Request::Backup {} => Ok(Answer::BackedUp(self.back_up(watch)?)),
            Request::Reload {} => Ok(Answer::Reloaded(self.reload()?)),
            Request::Notices {} => Ok(Answer::Notices(self.notices()?)),
            Request::Raise { severity, message, actor } => self.raise(severity, message, actor),
            Request::Approvals { all } => self.list_approvals(all),
            Request::Approval { id } => {
                let life = self.approvals_to_look_at()?.look_at_ask(id)?;
                let found = in_full(&life, self.journal.origin(), self.time_now()?);
                Ok(Answer::Approval(Box::new(found)))
            }
            Request::Verdict { document } => self.verdict(&document, &this_user()?),
            Request::Steward {} => self.steward_state(),
            Request::StewardOrder { target, order, actor, dry_run } => {
                self.steward_order(target.as_deref(), &order, &actor, dry_run)
            }
            Request::StewardMetrics { target, days } => self.steward_metrics(target.as_deref(), days),
            Request::Gateway { ask } => self.gateway(ask),
            Request::Memory { ask } => self.memory(ask, watch),
            Request::Stop {} => self.stop(),
        }
    }

    fn append(&self, append: Append) -> Result<Answer> {
        holdfast_approval::refuse_reserved(&append.kind, append.key.as_ref())?;
        holdfast_ledger::refuse_reserved(&append.kind, append.key.as_ref())?;
        crate::steward::refuse_reserved(&append.kind)?;
        crate::memory::refuse_reserved(&append.kind, append.key.as_ref())?;
        Ok(self.appended(self.journal.append(&draft_of(append)?)?))
    }

    fn appended(&self, done: journal::Appended) -> Answer {
        let journal::Appended { seq, repeated, redactions } = done;
        Answer::Appended(Appended { seq, repeated, redactions, warnings: self.journal.status().warnings })
    }

    fn checkpoint(&self) -> Result<Answer> {
        let signed = self.journal.checkpoint()?;
        Ok(Answer::Checkpoint(Checkpoint {
            origin: signed.checkpoint.origin,
            size: signed.checkpoint.size,
            root: BASE64.encode(signed.checkpoint.root),
            note: signed.note,
            warnings: self.journal.status().warnings,
        }))
    }

    /// Halts all autonomy. The switch is turned first; that it could not be written down keeps nothing from being halted.
    pub(crate) fn pause(&self, note: &Note) -> Result<PauseState> {
        let _turning = self.turning();
        let turned_now = match self.switch.pause(note) {
            // A daemon is what acts, so what it holds in memory halts everything there is.
            Err(failure) if self.staff().is_some() => {
                tracing::error!(why = ?failure, "the switch could not be written; held in memory until it can be");
                self.switch.hold(note)
            }
            turned => turned?,
        };
        if self.staff().is_some() && self.switch.standing() == Standing::Paused(None) {
            // A file without a note, as it is made where no byte fits: what it should say is written there later.
            self.switch.hold(note);
        }
        let stands = match self.switch.standing() {
            Standing::Paused(None) => Some(note.clone()),
            Standing::Paused(stands) => stands,
            Standing::Running => None,
        };
        // One that was turned by a command beside the daemon is recorded here; one that is recorded is not recorded again.
        let asked = stands.as_ref().is_some_and(|stands| stands.since == note.since);
        let recorded =
            if turned_now || asked { self.record_pause(stands.as_ref()).map(Some) } else { Ok(None) };
        let recorded_as = recorded.unwrap_or_else(|failure| {
            tracing::warn!(why = ?failure, "paused, but it could not be written down yet");
            None
        });
        let until_restart = self.switch.is_in_memory_alone();
        let state = pause_state(&Standing::Paused(stands));
        Ok(PauseState { repeated: !turned_now, recorded_as, until_restart, ..state })
    }

    /// Records the pause that stands, unless it is recorded.
    fn record_pause(&self, note: Option<&Note>) -> Result<u64> {
        let since = note.map(|note| note.since);
        let mut recorded = self.recorded_pause.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, seq)) = *recorded
            && known == since
        {
            return Ok(seq);
        }
        let seq = self.journal.append(&paused(note)?)?.seq;
        *recorded = Some((since, seq));
        Ok(seq)
    }

    /// Takes it that the log knows of the pause that stands.
    pub(crate) fn note_pause_recorded(&self, seq: u64) {
        if let Standing::Paused(note) = self.switch.standing() {
            let mut recorded = self.recorded_pause.lock().unwrap_or_else(PoisonError::into_inner);
            *recorded = Some((note.map(|note| note.since), seq));
        }
    }

    /// Makes up for what could not be done when somebody paused: the file, and the entry. Nothing to do is the usual case.
    pub(crate) fn make_up_for_pause(&self) -> Result<()> {
        let _turning = self.turning();
        self.switch.keep();
        self.switch.arm();
        match self.switch.standing() {
            Standing::Paused(note) => self.record_pause(note.as_ref()).map(drop),
            Standing::Running => Ok(()),
        }
    }

    fn resume(&self, actor: &Actor, reason: Option<String>) -> Result<Answer> {
        let _turning = self.turning();
        // First, since it looks for what another process may have put there this moment.
        let which = self.switch.which();
        let Standing::Paused(note) = self.switch.standing() else {
            return Ok(Answer::Paused(PauseState { repeated: true, ..PauseState::default() }));
        };
        // Recorded first, and in order: nothing goes on before it is written down who halted it and who let it.
        if self.staff().is_some() {
            self.record_pause(note.as_ref())?;
        }
        let appended = self.journal.append(&resumed(actor, reason.as_deref())?)?;
        let recorded_as = Some(appended.seq);
        self.switch.let_go();
        if let Some(which) = which
            && !self.switch.lift(&which)?
        {
            // Somebody paused again meanwhile. That one holds, and the journal's last word says so.
            let again =
                Note::new(self.clock.now(), actor.clone(), Some("paused again while it was being lifted"));
            let seq = self.journal.append(&paused(Some(&again))?)?.seq;
            self.note_pause_recorded(seq);
        }
        Ok(Answer::Paused(PauseState { recorded_as, ..pause_state(&self.switch.standing()) }))
    }

    fn raise(&self, severity: Severity, message: String, actor: Actor) -> Result<Answer> {
        let severity = match severity {
            Severity::Info => holdfast_notice::Severity::Info,
            Severity::Warning => holdfast_notice::Severity::Warning,
            Severity::Critical => holdfast_notice::Severity::Critical,
        };
        let seq = holdfast_notice::raise(&self.journal, &Notice::new(severity, actor, message))?;
        let warnings = self.journal.status().warnings;
        Ok(Answer::Appended(Appended { seq, repeated: false, redactions: 0, warnings }))
    }

    fn stop(&self) -> Result<Answer> {
        match self.staff() {
            Some(staff) => {
                staff.stop.cancel();
                Ok(Answer::Done)
            }
            None => Err(CliError::NoDaemon.into()),
        }
    }
}

pub(crate) fn pause_state(standing: &Standing) -> PauseState {
    match standing {
        Standing::Running => PauseState::default(),
        Standing::Paused(note) => PauseState {
            paused: true,
            since: note.as_ref().map(|n| n.since),
            by: note.as_ref().map(|n| n.by.clone()),
            reason: note.as_ref().and_then(|n| n.reason.clone()),
            ..PauseState::default()
        },
    }
}

fn draft_of(append: Append) -> Result<Draft> {
    let Append { kind, actor, subject, run, cause, key, trust, content } = append;
    let content = match content {
        Content::Body(body) => journal::Content::Body(body),
        Content::Blob(text) => {
            let bytes = BASE64.decode(text.as_bytes());
            journal::Content::Blob(bytes.map_err(|e| CliError::Usage { message: format!("the blob: {e}") })?)
        }
    };
    let subject = subject.map(|subject| match subject {
        Subject::Agent(id) => journal::Subject::Agent(id),
        Subject::Target(id) => journal::Subject::Target(id),
    });
    Ok(Draft { subject, run, cause, key, content, ..Draft::new(kind, actor, trust, Map::new()) })
}
