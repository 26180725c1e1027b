//! What the lookouts of a target have learnt, on the disk, so that a restart does not make them learn again; and what the change
//! that is under way is meant to do, so that something can be learnt from it.
//!
//! One file for each target, replaced whole: `docs/formats/lookouts.md`. It is a copy of what is in memory and no truth of its own: one
//! that is torn, of another target or of a later version is put aside, and everything is learnt anew.

use std::io;
use std::path::{Path, PathBuf};

use holdfast_durable::{Mode, create_dir, move_to_new, remove, replace};
use holdfast_lifeline::{EpisodeId, Steady, TargetName};
use holdfast_steward::lesson::Meant;
use holdfast_steward::setting::UnitName;
use holdfast_steward::watch::Watch;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::settings::Place;

const FORMAT: u32 = 1;
/// Four metrics take some fifty kilobytes.
const BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The lookouts, and the moment of the target's time they have seen.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Learnt {
    pub(super) at: Steady,
    pub(super) watch: Watch,
    /// What the open episode is meant to do.
    pub(super) meant: Option<(EpisodeId, Meant)>,
}

/// What is at its place.
#[derive(Debug)]
pub(super) enum Found {
    Nothing,
    Learnt(Box<Learnt>),
    /// Why it cannot be gone on from.
    Unusable(String),
}

#[derive(Clone, Debug)]
pub(super) struct LookoutFile {
    path: PathBuf,
    target: TargetName,
    host: String,
    units: Vec<UnitName>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    format: u32,
    target: TargetName,
    /// Which host it was: the same name may be given to another.
    host: String,
    at: Steady,
    /// Of the bytes of `watch`.
    blake3: String,
    watch: Box<RawValue>,
    meant: Option<(EpisodeId, Meant)>,
}

/// What every version says first.
#[derive(Deserialize)]
struct Version {
    format: u32,
}

impl LookoutFile {
    pub(super) fn of(state: &Path, place: &Place) -> LookoutFile {
        let path = state.join("steward").join(format!("{}.lookouts.json", place.name));
        LookoutFile {
            path,
            target: place.name.clone(),
            host: place.which_host(),
            units: place.units().to_vec(),
        }
    }

    pub(super) fn read(&self) -> Found {
        let unusable = |e: io::Error| Found::Unusable(e.to_string());
        match std::fs::metadata(&self.path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Found::Nothing,
            Err(e) => return unusable(e),
            Ok(found) if found.len() > BYTES_MAX => return Found::Unusable("it is too large".to_owned()),
            Ok(_) => {}
        }
        let bytes = match std::fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(e) => return unusable(e),
        };
        self.understood(&bytes).map_or_else(Found::Unusable, |learnt| Found::Learnt(Box::new(learnt)))
    }

    fn understood(&self, bytes: &[u8]) -> Result<Learnt, String> {
        let damaged = |e: serde_json::Error| format!("it is damaged: {e}");
        let Version { format } = serde_json::from_slice(bytes).map_err(damaged)?;
        if format != FORMAT {
            return Err(format!("it has the format {format}, and this program knows {FORMAT}"));
        }
        let written: Written = serde_json::from_slice(bytes).map_err(damaged)?;
        if written.target != self.target || written.host != self.host {
            return Err(format!("it is of {}, {}", written.target, written.host));
        }
        if written.blake3 != digest(&written.watch) {
            return Err("it is damaged: its digest is another".to_owned());
        }
        let watch: Watch = serde_json::from_str(written.watch.get()).map_err(damaged)?;
        if !watch.is_whole(&self.units) {
            return Err("it is of other metrics than are watched".to_owned());
        }
        Ok(Learnt { at: written.at, watch, meant: written.meant })
    }

    /// Durable when it returns.
    pub(super) fn write(
        &self,
        at: Steady,
        watch: &Watch,
        meant: Option<(EpisodeId, Meant)>,
    ) -> io::Result<()> {
        let watch = serde_json::value::to_raw_value(watch)?;
        let written = Written {
            format: FORMAT,
            target: self.target.clone(),
            host: self.host.clone(),
            at,
            blake3: digest(&watch),
            watch,
            meant,
        };
        self.path.parent().map_or(Ok(()), create_dir)?;
        replace(&self.path, &serde_json::to_vec(&written)?, Mode::Private)
    }

    /// Out of the way, and kept for whoever wants to know. One is kept, the latest.
    pub(super) fn put_aside(&self) -> io::Result<PathBuf> {
        let aside = self.path.with_extension("json.set-aside");
        remove(&aside)?;
        move_to_new(&self.path, &aside)?;
        Ok(aside)
    }
}

fn digest(watch: &RawValue) -> String {
    blake3::hash(watch.get().as_bytes()).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::super::model::{Model, Which, quiet_week};
    use super::super::settings::{Kind, places_of};
    use super::*;
    use holdfast_config as config;
    use holdfast_steward::brain::Diagnosis;
    use holdfast_steward::setting::Property;
    use holdfast_steward::watch::COLLECT_EVERY;

    fn place(name: &str, seed: u32) -> Place {
        let target = config::StewardTarget { seed, ..config::StewardTarget::named(name.to_owned()) };
        places_of(&config::Steward { targets: vec![target], ..config::Steward::default() }, "here").remove(0)
    }

    fn which(place: &Place) -> Which {
        match place.kind {
            Kind::Modelled(which) => which,
            Kind::Real(_) => panic!("it is modelled"),
        }
    }

    /// Lookouts in the middle of something.
    fn watch(place: &Place, until: u64) -> Watch {
        let (model, _) = Model::built_up(which(place), &[], Steady(0));
        let mut watch = Watch::new(place.units(), &quiet_week(which(place).seed, Steady(0)));
        live(&mut watch, &model, 0, until);
        watch
    }

    fn live(watch: &mut Watch, model: &Model, from: u64, until: u64) -> Vec<Steady> {
        let every = COLLECT_EVERY.as_millis() as u64;
        let mut offered = Vec::new();
        for at in (from..until).step_by(every as usize).map(Steady) {
            model.advance(at);
            offered.extend(watch.step(at, &model.sight().machine).map(|_| at));
        }
        offered
    }

    const HOUR: u64 = 3_600_000;

    #[test]
    fn what_was_stored_goes_on_as_if_it_had_never_stopped() {
        let dir = tempfile::tempdir().unwrap();
        let place = place("box-1", 7);
        let file = LookoutFile::of(dir.path(), &place);
        assert!(matches!(file.read(), Found::Nothing));
        // A shift has just begun, and is not told yet.
        let stopped = 12 * HOUR + 4 * 60_000;
        let mut lived = watch(&place, stopped);
        let meant = Meant {
            diagnosis: Diagnosis::NiceTooHigh,
            unit: "task-runner.service".parse().unwrap(),
            property: Property::Nice,
            step: 3.0,
            before: 27.5,
        };
        let meant = Some(("ep_1".parse().unwrap(), meant));
        file.write(Steady(stopped), &lived, meant.clone()).unwrap();
        let Found::Learnt(read) = file.read() else { panic!("{:?}", file.read()) };
        assert_eq!(*read, Learnt { at: Steady(stopped), watch: lived.clone(), meant });
        let mut read = read.watch;
        let model = || Model::built_up(which(&place), &[], Steady(stopped)).0;
        let offered = live(&mut lived, &model(), stopped, 14 * HOUR);
        assert!(!offered.is_empty());
        assert_eq!(live(&mut read, &model(), stopped, 14 * HOUR), offered);
        assert_eq!(read, lived);
    }

    #[test]
    fn what_is_torn_foreign_or_of_the_future_is_not_gone_on_from() {
        let dir = tempfile::tempdir().unwrap();
        let mine = place("box-1", 7);
        let file = LookoutFile::of(dir.path(), &mine);
        file.write(Steady(5), &watch(&mine, HOUR), None).unwrap();
        let whole = std::fs::read_to_string(&file.path).unwrap();
        let flipped = whole.replacen("\"samples\":5", "\"samples\":6", 1);
        assert_ne!(flipped, whole);
        for (bad, why) in [
            (String::new(), "damaged"),
            (whole[..whole.len() / 2].to_owned(), "damaged"),
            (flipped, "its digest is another"),
            (whole.replacen("\"format\":1", "\"format\":2", 1), "the format 2"),
            (whole.replacen("\"format\":1", "\"format\":2,\"novel\":{}", 1), "the format 2"),
            ("x".repeat(BYTES_MAX as usize + 1), "too large"),
        ] {
            std::fs::write(&file.path, bad).unwrap();
            let Found::Unusable(said) = file.read() else { panic!("{why}") };
            assert!(said.contains(why), "{said}");
        }
        std::fs::write(&file.path, &whole).unwrap();
        for other in [place("box-2", 7), place("box-1", 8)] {
            let file = LookoutFile { path: file.path.clone(), ..LookoutFile::of(dir.path(), &other) };
            let Found::Unusable(said) = file.read() else { panic!("{other:?}") };
            assert!(said.contains("it is of box-1"), "{said}");
        }
        let aside = file.put_aside().unwrap();
        assert!(matches!(file.read(), Found::Nothing));
        assert_eq!(std::fs::read_to_string(aside).unwrap(), whole);
    }
}
