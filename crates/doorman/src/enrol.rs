//! The first day of a target: what may be changed is written down, generation 0 is taken, and the lines of the keys are made.

use std::net::IpAddr;

use crate::place::Place;
use crate::program::Trouble;
use crate::room::{Room, Settings};
use crate::systemd;
use crate::wire::Role;

/// What people say at enrolment.
pub type Enrolment = Settings;

#[derive(Debug, thiserror::Error)]
pub enum NotEnrolled {
    #[error("there is no {0} on this target")]
    NoUnit(holdfast_steward::setting::UnitName),
    #[error("at least one unit has to be named")]
    NoUnits,
    #[error(transparent)]
    Trouble(#[from] Trouble),
}

/// Takes the target in as it is. Said again, it takes new settings and leaves everything else alone.
pub(crate) fn enrol(place: &Place, settings: &Enrolment) -> Result<(), NotEnrolled> {
    if settings.units.is_empty() {
        return Err(NotEnrolled::NoUnits);
    }
    let critical = [Some(&settings.ssh), settings.vpn.as_ref(), settings.firewall.as_ref()];
    for unit in settings.units.iter().chain(critical.into_iter().flatten()) {
        if !systemd::show_one(unit)?.is_loaded() {
            return Err(NotEnrolled::NoUnit(unit.clone()));
        }
    }
    Ok(Room::begin(place, settings)?)
}

/// The line for `authorized_keys`: this key runs the doorman in its role, and nothing else of SSH is open to it. Where addresses are
/// named it counts from those alone. Nothing where something does not look like what it should be.
pub fn authorized_line(place: &Place, role: Role, public_key: &str, from: &[IpAddr]) -> Option<String> {
    let mut parts = public_key.split_ascii_whitespace();
    let (kind, key) = (parts.next()?, parts.next()?);
    let plain = key.len() < 200 && key.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b));
    let program = place.program.to_str().filter(|path| !path.contains(['"', '\\', ' ', '\n']))?;
    let addresses = from.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let from = if from.is_empty() { String::new() } else { format!("from=\"{addresses}\",") };
    (kind == "ssh-ed25519" && plain)
        .then(|| format!("{from}command=\"{program} {role}\",restrict {kind} {key} holdfast-{role}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // shows: STW-244
    #[test]
    fn a_key_s_line_holds_the_forced_command_and_shuts_everything_else() {
        let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGfO";
        let line = authorized_line(&Place::default(), Role::Observe, key, &[]).unwrap();
        assert_eq!(
            line,
            "command=\"/usr/local/lib/holdfast/holdfast-doorman observe\",restrict ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGfO holdfast-observe"
        );
        for bad in ["ssh-rsa AAAA", "ssh-ed25519 AA\"AA", "ssh-ed25519", "", "ssh-ed25519 AA\\nBB"] {
            assert_eq!(authorized_line(&Place::default(), Role::Act, bad, &[]), None, "{bad}");
        }
        let from = ["192.0.2.7".parse().unwrap(), "2001:db8::1".parse().unwrap()];
        let line = authorized_line(&Place::default(), Role::Act, key, &from).unwrap();
        assert!(line.starts_with("from=\"192.0.2.7,2001:db8::1\",command=\""), "{line}");
    }
}
