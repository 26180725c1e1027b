//! One call, from the key that was used to the reply.

use std::io::Read;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use crate::arrival::{self, Arrival};
use crate::collect;
use crate::deed;
use crate::enrol;
use crate::log;
use crate::place::Place;
use crate::program::Trouble;
use crate::sight;
use crate::survey;
use crate::wire::{ASK_MAX, Ask, NotAdmitted, Reply, Role, Word, quoted};

/// What comes with a word has to be there soon: a slow sender must not hold a process.
const READ_WITHIN: Duration = Duration::from_secs(10);

/// What SSH was told to run: the word. Anything else than exactly a word is refused.
pub fn word_of(command: Option<&std::ffi::OsStr>) -> Result<Word, NotAdmitted> {
    use std::os::unix::ffi::OsStrExt as _;
    let command = command.ok_or(NotAdmitted::NoWord)?;
    match command.to_str() {
        Some(text) => text.parse(),
        None => Err(NotAdmitted::NoSuchWord { said: quoted(command.as_bytes()) }),
    }
}

/// Reads what came with a word, to its end, within its bounds.
pub fn read_ask(role: Role, word: Word, input: impl Read + AsFd) -> Result<Ask, NotAdmitted> {
    if !role.admits(word) {
        return Err(NotAdmitted::NotForThisKey { role, word });
    }
    let ask = Ask::read(word, &read_bounded(input)?)?;
    if ask.is_for(role) { Ok(ask) } else { Err(NotAdmitted::NotForThisKey { role, word }) }
}

fn read_bounded(mut input: impl Read + AsFd) -> Result<Vec<u8>, NotAdmitted> {
    let until = Instant::now() + READ_WITHIN;
    let mut bytes = Vec::new();
    let mut piece = [0; 8192];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || !is_ready(&input, left) {
            return Err(NotAdmitted::TooSlow);
        }
        match input.read(&mut piece) {
            Ok(0) => return Ok(bytes),
            Ok(read) => bytes.extend_from_slice(&piece[..read]),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return Err(NotAdmitted::TooSlow),
        }
        if bytes.len() > ASK_MAX {
            return Err(NotAdmitted::TooLong);
        }
    }
}

fn is_ready(input: &impl AsFd, within: Duration) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut fds = [PollFd::new(input, PollFlags::IN)];
    let within =
        Timespec { tv_sec: within.as_secs().try_into().unwrap_or(10), tv_nsec: within.subsec_nanos().into() };
    poll(&mut fds, Some(&within)).is_ok_and(|ready| ready > 0)
}

/// Where the system's log takes entries in its own form.
const LOG: &str = "/run/systemd/journal/socket";
/// Facility authpriv: who was let in, and who was not.
const FACILITY: u8 = 10;

/// Writes down who asked for what: a refusal as a warning, with the start of what was said.
pub fn note(role: Role, command: Option<&std::ffi::OsStr>, asked: Result<Word, &NotAdmitted>) {
    use std::os::unix::ffi::OsStrExt as _;
    let (priority, message) = match asked {
        Ok(word) => (6, format!("{role}: {word}")),
        Err(refused) => {
            let said = command.map_or("nothing".to_owned(), |command| quoted(command.as_bytes()));
            (4, format!("{role}: refused {said}: {refused}"))
        }
    };
    tell_the_system(priority, &message);
}

/// Something of the doorman's own does not work, and nothing depends on it.
pub(crate) fn warn(what: &str) {
    tell_the_system(4, what);
}

fn tell_the_system(priority: u8, message: &str) {
    let message: String = message.chars().filter(|c| !c.is_control()).collect();
    let entry = format!(
        "MESSAGE={message}\nPRIORITY={priority}\nSYSLOG_FACILITY={FACILITY}\nSYSLOG_IDENTIFIER=holdfast-doorman\n"
    );
    // A target without that log is still served: its own records say what was done.
    let _ =
        std::os::unix::net::UnixDatagram::unbound().and_then(|socket| socket.send_to(entry.as_bytes(), LOG));
}

/// Does what was asked.
pub fn answer(place: &Place, ask: &Ask) -> Reply {
    let done = match ask {
        Ask::Ping {} => sight::ping(),
        Ask::Collect { cursor } => collect::enrolled(place, cursor.as_deref()),
        Ask::Survey {} => survey::survey(),
        Ask::State { full, renew, about } => sight::state(place, *full, renew.as_ref(), about.as_ref()),
        Ask::List {} => sight::list(place),
        Ask::Check { changes } => deed::check(place, changes),
        Ask::Stage { episode, base, changes } => deed::stage(place, episode, *base, changes),
        Ask::Arm { episode, known_good, candidate, lasts_seconds, cap_seconds } => {
            let spans = (Duration::from_secs(*lasts_seconds), Duration::from_secs(*cap_seconds));
            deed::arm(place, episode, (*known_good, *candidate), spans)
        }
        Ask::Try { episode, candidate } => deed::begin(place, episode, *candidate),
        Ask::Poll { episode } => deed::poll(place, episode),
        Ask::Keep { episode, candidate } => deed::keep(place, episode, *candidate),
        Ask::Restore { episode, wanted } => deed::restore(place, episode, *wanted),
        Ask::Cancel { episode } => deed::cancel(place, episode),
        Ask::Clean { keep, older_seconds } => deed::clean(place, *keep, Duration::from_secs(*older_seconds)),
    };
    let reply = done.unwrap_or_else(|trouble| Reply::Broken { why: trouble.to_string() });
    log::answered(place, ask, &reply);
    reply
}

/// Whether a word goes on when the session that said it dies.
pub fn outlives_its_session(word: Word) -> bool {
    matches!(word, Word::Keep | Word::Restore | Word::Cancel)
}

/// The same ask in a unit of its own, which no session takes with it; waits for what it replies.
pub fn answer_apart(place: &Place, ask: &Ask) -> Result<Reply, Trouble> {
    match deed::apart(place, ask) {
        // Without room below `/run` there is no unit, and a session is better than nothing. What one that died has begun is done again.
        Err(Trouble::Failed { .. }) => Ok(answer(place, ask)),
        done => done,
    }
}

/// The first day and all around it, from what a person's account hands over.
pub fn arrive(place: &Place, input: impl Read + AsFd) -> Result<String, String> {
    let bytes = read_bounded(input).map_err(|e| e.to_string())?;
    let arrival: Arrival = serde_json::from_slice(&bytes).map_err(|e| quoted(e.to_string().as_bytes()))?;
    arrival::arrive(place, &arrival)?;
    Ok(r#"{"arrived":true}"#.to_owned())
}

/// Everything of ours away again; what came of it, as one line of JSON.
pub fn leave(place: &Place) -> Result<String, String> {
    let left = arrival::leave(place)?;
    serde_json::to_string(&left).map_err(|e| e.to_string())
}

/// What the target tells itself: the timer, the activation, and the first day.
pub fn own(place: &Place, args: &[&str]) -> Result<(), String> {
    let said = |e: &dyn std::fmt::Display| e.to_string();
    match args {
        ["expire"] => deed::expire(place).map_err(|e| said(&e)),
        ["activate", episode, candidate] => {
            let episode = episode.parse().map_err(|e| said(&e))?;
            let candidate = candidate.parse().map_err(|e| said(&e))?;
            deed::activate(place, &episode, candidate).map_err(|e| said(&e))
        }
        ["enrol", settings] => {
            let settings = serde_json::from_str(settings).map_err(|e| said(&e))?;
            enrol::enrol(place, &settings).map_err(|e| said(&e))
        }
        _ => Err("this program stands behind a key and is not called by hand".to_owned()),
    }
}
