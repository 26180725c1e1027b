//! The file of the plain detector: how each metric of a target usually behaves, and from when on a difference counts.
//!
//! One file for each target, replaced whole. Without it nothing is noticed by the plain detector.

use std::io;
use std::path::{Path, PathBuf};

use holdfast_durable::{Mode, create_dir, replace};
use holdfast_lifeline::TargetName;
use holdfast_steward::calibrate::{Calibration, Parameters, Replaced};
use holdfast_steward::sample::Metric;

use super::StewardError;

/// A file of a target with every metric there is has a few kilobytes.
const BYTES_MAX: u64 = 1024 * 1024;

#[derive(Clone, Debug)]
pub(crate) struct CalibrationFile {
    path: PathBuf,
}

impl CalibrationFile {
    pub(crate) fn of(state: &Path, target: &TargetName) -> CalibrationFile {
        CalibrationFile { path: state.join("steward").join(format!("{target}.cusum-params.json")) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What stands in it; nothing when there is none. One that cannot be followed is not taken for none.
    pub(crate) fn read(&self) -> Result<Parameters, StewardError> {
        let unreadable = |why: String| StewardError::CalibrationUnreadable { path: self.path.clone(), why };
        match std::fs::metadata(&self.path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Parameters::default()),
            Err(e) => return Err(unreadable(e.to_string())),
            Ok(found) if found.len() > BYTES_MAX => return Err(unreadable("it is too large".to_owned())),
            Ok(_) => {}
        }
        let bytes = std::fs::read(&self.path).map_err(|e| unreadable(e.to_string()))?;
        serde_json::from_slice(&bytes).map_err(|e| unreadable(e.to_string()))
    }

    /// Puts a calibration in the place of the one before. Durable when it returns.
    pub(crate) fn replace(&self, metric: Metric, new: Calibration) -> Result<Replaced, StewardError> {
        let mut parameters = self.read()?;
        let replaced = parameters.replace(metric, new);
        let failed = |why: String| StewardError::NotKept { why };
        let bytes = serde_json::to_vec_pretty(&parameters).map_err(|e| failed(e.to_string()))?;
        if let Some(dir) = self.path.parent() {
            create_dir(dir).map_err(|e| failed(e.to_string()))?;
        }
        replace(&self.path, &bytes, Mode::Private).map_err(|e| failed(e.to_string()))?;
        Ok(replaced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_followed_is_not_taken_for_none() {
        let dir = tempfile::tempdir().unwrap();
        let file = CalibrationFile::of(dir.path(), &"box-1".parse().unwrap());
        assert_eq!(file.read().unwrap(), Parameters::default());
        let calibration = *holdfast_steward_host::CALIBRATION;
        let first = file.replace(Metric::primary(), calibration).unwrap();
        let second = file.replace(Metric::primary(), calibration).unwrap();
        assert_eq!((first.old, first.new.version()), (None, 1));
        assert_eq!((second.old, second.new.version()), (Some(first.new), 2));
        assert_eq!(file.read().unwrap().get(&Metric::primary()), Some(&second.new));
        for bad in ["", "{", r#"{"format":2,"calibrations":{}}"#] {
            std::fs::write(file.path(), bad).unwrap();
            assert!(matches!(file.read(), Err(StewardError::CalibrationUnreadable { .. })), "{bad}");
            assert!(file.replace(Metric::primary(), calibration).is_err(), "and is not written over");
        }
    }
}
