//! How full an agent's context is, and when to say so: once for each level, until it was below it again.

use serde::{Deserialize, Serialize};

/// In rising order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Ok,
    Warm,
    WrapUp,
    Imminent,
}

impl Level {
    const WARNING: [Level; 3] = [Level::Warm, Level::WrapUp, Level::Imminent];
}

#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq)]
pub enum LimitsError {
    #[error("a model's context holds more than 0 tokens")]
    NoTokens,
    #[error("the levels {warm}, {wrap_up} and {imminent} percent must rise, above 0 and up to 100")]
    Unordered { warm: f64, wrap_up: f64, imminent: f64 },
}

/// What a model's context holds, and the percentages at which each level begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    max_tokens: u64,
    levels: [f64; 3],
}

impl Limits {
    pub const WARM_PERCENT: f64 = 60.0;
    pub const WRAP_UP_PERCENT: f64 = 70.0;
    pub const IMMINENT_PERCENT: f64 = 80.0;

    /// For a model with this context, with the usual levels.
    pub fn of_model(max_tokens: u64) -> Result<Limits, LimitsError> {
        Limits::new(max_tokens, Limits::WARM_PERCENT, Limits::WRAP_UP_PERCENT, Limits::IMMINENT_PERCENT)
    }

    pub fn new(max_tokens: u64, warm: f64, wrap_up: f64, imminent: f64) -> Result<Limits, LimitsError> {
        if max_tokens == 0 {
            return Err(LimitsError::NoTokens);
        }
        let rising = 0.0 < warm && warm < wrap_up && wrap_up < imminent && imminent <= 100.0;
        if !rising {
            return Err(LimitsError::Unordered { warm, wrap_up, imminent });
        }
        Ok(Limits { max_tokens, levels: [warm, wrap_up, imminent] })
    }

    fn level(&self, percent: f64) -> Level {
        let reached = self.levels.iter().filter(|&&level| percent >= level).count();
        reached.checked_sub(1).map_or(Level::Ok, |at| Level::WARNING[at])
    }
}

/// Who counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// The agent's runtime reported it.
    Reported,
    /// Guessed from the length of what was said.
    Estimated,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    #[serde(rename = "usedTokens")]
    pub used_tokens: u64,
    #[serde(rename = "maxTokens")]
    pub max_tokens: u64,
    #[serde(rename = "usagePercent")]
    pub usage_percent: f64,
    pub status: Level,
    pub counted: Counted,
    /// What to tell the agent now; nothing when it was told before.
    pub message: Option<String>,
}

/// Watches one agent's context. A new session starts with a new one.
#[derive(Clone, Debug, PartialEq)]
pub struct Tracker {
    limits: Limits,
    /// The highest level that was told and not left since.
    told: Level,
}

impl Tracker {
    pub fn new(limits: Limits) -> Tracker {
        Tracker { limits, told: Level::Ok }
    }

    /// To be called every turn, and after a capture whatever became of it.
    pub fn check(&mut self, used_tokens: u64, counted: Counted) -> Status {
        let max_tokens = self.limits.max_tokens;
        let usage_percent = used_tokens as f64 / max_tokens as f64 * 100.0;
        let status = self.limits.level(usage_percent);
        let message = (status > self.told).then(|| message(status, usage_percent, counted));
        // A fall re-arms the levels it fell below.
        self.told = status;
        Status { used_tokens, max_tokens, usage_percent, status, counted, message }
    }

    pub fn reset(&mut self) {
        self.told = Level::Ok;
    }
}

fn message(level: Level, percent: f64, counted: Counted) -> String {
    let about = match counted {
        Counted::Reported => "",
        Counted::Estimated => "about ",
    };
    // Downwards, so that no message claims a level that is not reached.
    let percent = percent.floor();
    match level {
        Level::Ok => String::new(),
        Level::Warm => format!("Context is getting warm: {about}{percent} % used."),
        Level::WrapUp => format!("Context is {about}{percent} % used: consider wrapping up the task."),
        Level::Imminent => {
            format!("Context is {about}{percent} % used: compaction is imminent, save progress.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tracker() -> Tracker {
        Tracker::new(Limits::of_model(1_000).unwrap())
    }

    // shows: MEM-101, HRD-106, HRD-107, HRD-108
    #[test]
    fn each_level_begins_at_its_percentage() {
        for (used, level, words) in [
            (0, Level::Ok, ""),
            (599, Level::Ok, ""),
            (600, Level::Warm, "getting warm"),
            (699, Level::Warm, "getting warm"),
            (700, Level::WrapUp, "wrapping up"),
            (800, Level::Imminent, "save progress"),
            (5_000, Level::Imminent, "save progress"),
        ] {
            let status = tracker().check(used, Counted::Reported);
            assert_eq!(status.status, level, "{used}");
            assert!(status.message.unwrap_or_default().contains(words), "{used}");
        }
    }

    // shows: MEM-102, HRD-109, MEM-F52
    #[test]
    fn a_level_is_told_once_until_it_was_left() {
        let mut tracker = tracker();
        let told = [650, 650, 400, 650].map(|used| tracker.check(used, Counted::Reported).message.is_some());
        assert_eq!(told, [true, false, false, true]);
        tracker.reset();
        assert!(tracker.check(650, Counted::Reported).message.unwrap().contains("65 %"));
        let falling = [850, 750, 850].map(|used| tracker.check(used, Counted::Reported).message.is_some());
        assert_eq!(falling, [true, false, true]);
    }

    // shows: MEM-099, MEM-100
    #[test]
    fn the_maximum_is_the_models_and_the_status_has_its_schema() {
        let status = |max| Tracker::new(Limits::of_model(max).unwrap()).check(130_000, Counted::Reported);
        assert_eq!((status(200_000).status, status(1_000_000).status), (Level::Warm, Level::Ok));
        let json = serde_json::to_value(status(200_000)).unwrap();
        for field in ["usedTokens", "maxTokens", "usagePercent", "status", "message"] {
            assert!(json.get(field).is_some(), "{field}");
        }
    }

    // shows: MEM-104, MEM-F53
    #[test]
    fn an_estimate_is_marked_as_one() {
        let status = tracker().check(800, Counted::Estimated);
        assert!(status.counted == Counted::Estimated && status.message.unwrap().contains("about 80 %"));
    }

    #[test]
    fn limits_that_make_no_sense_are_refused() {
        assert_eq!(Limits::of_model(0), Err(LimitsError::NoTokens));
        for (warm, wrap_up, imminent) in [
            (70.0, 60.0, 80.0),
            (60.0, 60.0, 80.0),
            (0.0, 50.0, 80.0),
            (60.0, 70.0, 101.0),
            (f64::NAN, 70.0, 80.0),
        ] {
            assert!(Limits::new(100, warm, wrap_up, imminent).is_err(), "{warm} {wrap_up} {imminent}");
        }
    }
}
