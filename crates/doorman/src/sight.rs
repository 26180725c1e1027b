//! The words that look: what runs, what a boot gives, how the units are, and what was measured.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use holdfast_lifeline::{BootId, EpisodeId, Identity};
use holdfast_steward::com::{Com, UnitModel};
use holdfast_steward::effect::{Full, TargetState, Workload};
use holdfast_steward::setting::{Property, Setting, UnitName, Value};
use sha2::{Digest, Sha256};

use crate::deed;
use crate::kernel;
use crate::layer::{KEPT_PREFIX, Layer, TRIAL_PREFIX, WRITTEN};
use crate::ours::{Found, layer_in};
use crate::place::Place;
use crate::program::{Trouble, run};
use crate::reading::OUT_OF_MEMORY;
use crate::room::{Room, Settings};
use crate::systemd::{self, Shown};
use crate::wire::Reply;

const JOURNAL_WITHIN: Duration = Duration::from_secs(15);
/// Longer than a manager takes from making a group to setting its limits, on a slow machine.
const BETWEEN_LOOKS: Duration = Duration::from_millis(300);
/// Whoever is never the same twice in so many looks is told as it was seen last.
const LOOKS_MAX: usize = 6;

/// What every cycle of a window needs.
#[derive(Debug)]
pub(crate) struct Brief {
    pub(crate) running: Identity,
    pub(crate) boots_into: Identity,
    pub(crate) workload: Workload,
    people: u64,
}

/// And what planning needs beyond.
#[derive(Debug)]
pub(crate) struct Everything {
    pub(crate) brief: Brief,
    pub(crate) com: Com,
    pub(crate) baseline: Com,
}

pub(crate) fn seen(room: &Room<'_>) -> Result<Brief, Trouble> {
    let shown = managed(&room.settings)?;
    brief(room.place, &shown)
}

fn managed(settings: &Settings) -> Result<Vec<Shown>, Trouble> {
    let units: Vec<&str> = settings.units.iter().map(UnitName::as_str).collect();
    systemd::show(&units)
}

fn brief(place: &Place, shown: &[Shown]) -> Result<Brief, Trouble> {
    let kept = layer_in(&place.kept, KEPT_PREFIX)?;
    let tried = layer_in(&place.trial, TRIAL_PREFIX)?;
    Ok(Brief {
        running: running(place, shown, &kept, &tried)?,
        boots_into: named(&kept.layer, &kept.odd),
        workload: workload(shown),
        people: peoples_digest(shown)?,
    })
}

/// What is truly in force: what our files say, and the kernel's own figure wherever it has another.
fn running(place: &Place, shown: &[Shown], kept: &Found, tried: &Found) -> Result<Identity, Trouble> {
    let mut layer = kept.layer.clone();
    for (setting, value) in tried.layer.iter() {
        layer.insert(setting.clone(), value);
    }
    let mut peoples = Layer::default();
    for shown in shown {
        let Some(unit) = shown.unit() else { continue };
        for setting in systemd::settings_of(&unit) {
            let Some((live, configured)) = in_force(place, shown, &setting, layer.get(&setting))? else {
                continue;
            };
            // A process may set its own nice value; only what we asked for is held against it.
            let asked = !setting.property.needs_restart() || layer.get(&setting).is_some();
            if asked && configured.is_some_and(|it| !kernel::is_same(&setting.property, live, it)) {
                layer.insert(setting, live);
            } else if layer.get(&setting).is_some() {
                let total = kernel::meminfo("MemTotal").unwrap_or(u64::MAX);
                if let Ok(value) = systemd::peoples_value(shown, &setting.property, total) {
                    peoples.insert(setting, value);
                }
            }
        }
    }
    // A trial says people's own value where our word is taken away: that is the layer without it.
    let mut plain = Layer::default();
    for (setting, value) in layer.iter() {
        let said = tried.layer.get(setting).is_some() && peoples.get(setting) == Some(value);
        if !said {
            plain.insert(setting.clone(), value);
        }
    }
    let odd: Vec<_> = kept.odd.iter().chain(&tried.odd).cloned().collect();
    Ok(named(&plain, &odd))
}

/// The kernel's figure for a setting, and what was asked for; nothing where nothing runs.
fn in_force(
    place: &Place,
    shown: &Shown,
    setting: &Setting,
    ours: Option<Value>,
) -> Result<Option<(Value, Option<Value>)>, Trouble> {
    let reading = |shown: &Shown| Reading {
        start: shown.start(),
        live: kernel::live(place, shown, &setting.property),
        asked: ours.or_else(|| shown.configured(&setting.property)),
    };
    let mut last = reading(shown);
    // A process may set its own nice value; that is not held against it, so nobody has to look twice.
    if ours.is_some() || !setting.property.needs_restart() {
        last = settled(&setting.property, last, || {
            std::thread::sleep(BETWEEN_LOOKS);
            Ok(reading(&systemd::show_one(&setting.unit)?))
        })?;
    }
    Ok(last.live.map(|live| (live, last.asked)))
}

/// One look at a setting of one start of a service.
#[derive(Clone, Debug, PartialEq)]
struct Reading {
    start: String,
    live: Option<Value>,
    asked: Option<Value>,
}

/// A service that is killed and started again and again shows no limit for a moment, while its group is made or taken away. So a figure
/// that is not what was asked for counts when it is seen twice of the same start.
fn settled(
    property: &Property,
    first: Reading,
    mut again: impl FnMut() -> Result<Reading, Trouble>,
) -> Result<Reading, Trouble> {
    let mut last = first;
    for _ in 0..LOOKS_MAX {
        let differs = |live| last.asked.is_some_and(|asked| !kernel::is_same(property, live, asked));
        if !last.live.is_some_and(differs) {
            break;
        }
        let next = again()?;
        if next == last {
            break;
        }
        last = next;
    }
    Ok(last)
}

/// The identity of a layer; where somebody edited a file of ours, one that nothing else has.
fn named(layer: &Layer, odd: &[(std::path::PathBuf, String)]) -> Identity {
    if odd.is_empty() {
        return layer.identity();
    }
    let mut hasher = Sha256::new();
    hasher.update(layer.identity().0);
    for (path, held) in odd {
        hasher.update(path.display().to_string());
        hasher.update([0]);
        hasher.update(held);
        hasher.update([0]);
    }
    Identity(hasher.finalize().into())
}

/// The digest of everything people wrote for the units.
fn peoples_digest(shown: &[Shown]) -> Result<u64, Trouble> {
    let mut hasher = Sha256::new();
    for shown in shown {
        for path in shown.peoples_files() {
            hasher.update(path.display().to_string());
            hasher.update([0]);
            hasher.update(systemd::read_bounded(&path)?);
            hasher.update([0]);
        }
    }
    let digest: [u8; 32] = hasher.finalize().into();
    let mut head = [0; 8];
    head.copy_from_slice(&digest[..8]);
    Ok(u64::from_le_bytes(head))
}

fn workload(shown: &[Shown]) -> Workload {
    let kills = shown.iter().filter_map(Shown::unit).map(|unit| kills(&unit)).fold(0, u32::saturating_add);
    Workload {
        active: shown.iter().all(Shown::is_active),
        restarts: shown.iter().map(Shown::restarts).fold(0, u32::saturating_add),
        kills,
        failed_units: u32::try_from(shown.iter().filter(|it| it.has_failed()).count()).unwrap_or(u32::MAX),
        busy: false,
    }
}

/// Kills since the boot. A unit's own count begins anew with each start, the journal's does not.
fn kills(unit: &UnitName) -> u32 {
    let (id, of) = (format!("MESSAGE_ID={OUT_OF_MEMORY}"), format!("UNIT={unit}"));
    let args = ["--boot", "--quiet", "--no-pager", "--output=cat", "--lines=1000", &id, &of];
    let text = run("journalctl", &args, JOURNAL_WITHIN).unwrap_or_default();
    u32::try_from(text.lines().count()).unwrap_or(u32::MAX)
}

pub(crate) fn everything(room: &Room<'_>) -> Result<Everything, Trouble> {
    everything_of(room.place, &room.settings)
}

fn everything_of(place: &Place, settings: &Settings) -> Result<Everything, Trouble> {
    let listed = systemd::show(&["*.service"])?;
    // Units that come and go by themselves (sessions, instances, our own timers) are no configuration.
    let lasting = listed.into_iter().filter(|it| it.is_loaded() && it.is_switched_on());
    let mut by_unit: BTreeMap<UnitName, Shown> = lasting.filter_map(|it| Some((it.unit()?, it))).collect();
    let critical = [Some(&settings.ssh), settings.vpn.as_ref(), settings.firewall.as_ref()];
    for unit in settings.units.iter().chain(critical.into_iter().flatten()) {
        if !by_unit.contains_key(unit) {
            by_unit.insert(unit.clone(), systemd::show_one(unit)?);
        }
    }
    let shown: Vec<Shown> = settings.units.iter().filter_map(|unit| by_unit.get(unit).cloned()).collect();
    let total = kernel::meminfo("MemTotal").unwrap_or(0);
    let ports = listening(place, &by_unit);
    let mut units = BTreeMap::new();
    for (unit, it) in &by_unit {
        let configured =
            WRITTEN.into_iter().filter_map(|property| Some((property.clone(), it.configured(&property)?)));
        let peak = it.cgroup(place).and_then(|folder| kernel::number(&folder.join("memory.peak")));
        units.insert(
            unit.clone(),
            UnitModel {
                enabled: it.is_enabled(),
                settings: configured.collect(),
                listens: ports.get(unit).cloned().unwrap_or_default(),
                peak_memory: peak,
                definition: digest_of(it)?,
            },
        );
    }
    let on = |unit: &UnitName| by_unit.get(unit).is_some_and(|it| it.is_enabled() && it.is_active());
    let com = Com {
        memory_total: total,
        swap: kernel::meminfo("SwapTotal").is_some_and(|bytes| bytes > 0),
        ssh_enabled: on(&settings.ssh),
        vpn_enabled: settings.vpn.as_ref().map(on),
        // A target without a firewall of its own has none to lose; what was enrolled with one keeps it.
        firewall_enabled: settings.firewall.as_ref().is_none_or(on),
        units,
        rest: String::new(),
        own_configuration: String::new(),
    };
    let baseline = baseline(&com, &shown, total)?;
    Ok(Everything { brief: brief(place, &shown)?, com, baseline })
}

/// The same without anything of ours.
fn baseline(com: &Com, shown: &[Shown], total: u64) -> Result<Com, Trouble> {
    let mut baseline = com.clone();
    for it in shown {
        let Some(model) = it.unit().and_then(|unit| baseline.units.get_mut(&unit)) else { continue };
        for property in WRITTEN {
            let value = systemd::peoples_value(it, &property, total)?;
            model.settings.insert(property, value);
        }
    }
    Ok(baseline)
}

fn digest_of(shown: &Shown) -> Result<String, Trouble> {
    Ok(format!("{:016x}", peoples_digest(std::slice::from_ref(shown))?))
}

/// The ports each unit listens on: sockets by their number, and whose process holds them.
fn listening(place: &Place, units: &BTreeMap<UnitName, Shown>) -> BTreeMap<UnitName, Vec<u16>> {
    let mut by_inode = BTreeMap::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        for line in fs::read_to_string(table).unwrap_or_default().lines().skip(1) {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let (Some(local), Some(&"0A"), Some(inode)) = (fields.get(1), fields.get(3), fields.get(9))
            else {
                continue;
            };
            let port = local.rsplit(':').next().and_then(|port| u16::from_str_radix(port, 16).ok());
            by_inode.extend(port.map(|port| ((*inode).to_owned(), port)));
        }
    }
    let mut ports: BTreeMap<UnitName, Vec<u16>> = BTreeMap::new();
    for (unit, shown) in units {
        let Some(folder) = shown.cgroup(place) else { continue };
        let mut found: Vec<u16> = processes(&folder).iter().flat_map(|pid| sockets(pid, &by_inode)).collect();
        found.sort_unstable();
        found.dedup();
        if !found.is_empty() {
            ports.insert(unit.clone(), found);
        }
    }
    ports
}

fn processes(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    text.lines().take(4096).map(str::to_owned).collect()
}

fn sockets(pid: &str, by_inode: &BTreeMap<String, u16>) -> Vec<u16> {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let links = open.filter_map(|entry| fs::read_link(entry.path()).ok()).take(4096);
    links
        .filter_map(|link| {
            let name = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
            by_inode.get(name).copied()
        })
        .collect()
}

/// Everything about the target that was asked for.
pub(crate) fn state(
    place: &Place,
    full: bool,
    renew: Option<&EpisodeId>,
    about: Option<&EpisodeId>,
) -> Result<Reply, Trouble> {
    let (settings, desk, boot) = match renew {
        Some(episode) => {
            let mut room = deed::enter(place)?;
            deed::renew(&mut room, episode)?;
            (room.settings, room.desk, room.boot)
        }
        None => {
            deed::settle_if_due(place);
            let (settings, desk) = Room::peek(place)?;
            (settings, desk, kernel::boot()?)
        }
    };
    let (brief, more) = if full {
        let all = everything_of(place, &settings)?;
        let generations = generation_count(place);
        let space = free_space(&place.state).min(free_space(Path::new("/run"))).min(free_space(&place.kept));
        let more = Full { com: all.com, baseline: all.baseline, generations, space };
        (all.brief, Some(Box::new(more)))
    } else {
        (brief(place, &managed(&settings)?)?, None)
    };
    Ok(Reply::State(Box::new(TargetState {
        running: brief.running,
        boots_into: brief.boots_into,
        boot,
        people: brief.people,
        workload: brief.workload,
        ended: about.and_then(|episode| desk.ending(episode)),
        leased: desk.lease().is_some(),
        metric: kernel::pressure(Path::new("/proc/pressure/memory"), "memory", None).map(|it| it.some[1]),
        full: more,
    })))
}

fn generation_count(place: &Place) -> u32 {
    let folders = fs::read_dir(place.state.join("generations")).into_iter().flatten().flatten();
    u32::try_from(folders.count()).unwrap_or(u32::MAX)
}

fn free_space(path: &Path) -> u64 {
    rustix::fs::statvfs(path).map_or(0, |fs| fs.f_bavail.saturating_mul(fs.f_frsize))
}

pub(crate) fn ping() -> Result<Reply, Trouble> {
    let boot: BootId = kernel::boot()?;
    Ok(Reply::Pong { version: env!("CARGO_PKG_VERSION").to_owned(), boot })
}

pub(crate) fn list(place: &Place) -> Result<Reply, Trouble> {
    Ok(Reply::Generations(deed::enter(place)?.generations()?))
}

/// What runs, by files and the kernel alone: cheap enough for every cycle.
pub(crate) fn what_runs(place: &Place, shown: &[Shown]) -> Result<Identity, Trouble> {
    running(place, shown, &layer_in(&place.kept, KEPT_PREFIX)?, &layer_in(&place.trial, TRIAL_PREFIX)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn reading(start: &str, live: Option<Value>) -> Reading {
        Reading { start: start.to_owned(), live, asked: Some(Value::Bytes(256 * MIB)) }
    }

    /// What counts of these looks, and how many were needed.
    fn check(looks: &[Reading]) -> (Option<Value>, usize) {
        let (mut rest, mut count) = (looks[1..].iter(), 1);
        let settled = settled(&Property::MemoryMax, looks[0].clone(), || {
            count += 1;
            Ok(rest.next().cloned().unwrap_or_else(|| panic!("look {count}")))
        });
        (settled.unwrap().live, count)
    }

    #[test]
    fn a_limit_that_is_missing_while_a_service_starts_or_ends_is_no_other_limit() {
        let (asked, none, other) = (Value::Bytes(256 * MIB), Value::Infinity, Value::Bytes(300 * MIB));
        // As it should be, or not there: one look is enough.
        assert_eq!(check(&[reading("1", Some(asked))]), (Some(asked), 1));
        assert_eq!(check(&[reading("1", None)]), (None, 1));
        // The group is just being made, or was taken away.
        assert_eq!(check(&[reading("1", Some(none)), reading("1", Some(asked))]), (Some(asked), 2));
        assert_eq!(check(&[reading("1", Some(none)), reading("0", None)]), (None, 2));
        let (first, second) = (reading("1", Some(none)), reading("2", Some(none)));
        assert_eq!(check(&[first, second, reading("3", Some(asked))]), (Some(asked), 3));
        // Somebody set another one, and it stays.
        assert_eq!(check(&[reading("1", Some(other)), reading("1", Some(other))]), (Some(other), 2));
        assert_eq!(check(&[reading("1", Some(none)), reading("1", Some(none))]), (Some(none), 2));
        // Never the same twice: what was seen last is told.
        let restless: Vec<Reading> = (0..=LOOKS_MAX).map(|n| reading(&n.to_string(), Some(none))).collect();
        assert_eq!(check(&restless), (Some(none), LOOKS_MAX + 1));
    }
}
