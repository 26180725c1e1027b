//! Switches by which the simulator breaks the design on purpose, to show that it would notice.
//!
//! Each names one mistake that a design like this one has been seen to make, and each is one line at the place where
//! the mistake would be. A running product carries [`Sound`] and nothing else: only the simulator makes another.

use std::fmt;

macro_rules! flaws {
    ($($(#[doc = $what:literal])+ $name:ident = $text:literal;)*) => {
        /// One mistake.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Flaw {
            $($(#[doc = $what])+ $name,)*
        }

        impl Flaw {
            pub const ALL: &'static [Flaw] = &[$(Flaw::$name),*];

            pub fn name(self) -> &'static str {
                match self { $(Flaw::$name => $text,)* }
            }

            /// What the mistake is, in a sentence.
            pub fn what(self) -> &'static str {
                match self { $(Flaw::$name => concat!($($what),+).trim_ascii_start(),)* }
            }
        }
    };
}

flaws! {
    // --- going back
    /// Rollback goes to the generation before the current one instead of naming what to go back to.
    RollbackByPrevious = "rollback-by-previous";
    /// A rollback that was accepted counts as done.
    AcceptedIsDone = "accepted-is-done";
    /// Only a soft reboot is tried; a hung host ignores it.
    SoftRebootOnly = "soft-reboot-only";
    /// The cascade gives up after its last channel.
    CascadeGivesUp = "cascade-gives-up";
    /// A controller without network reboots the host it cannot see.
    RebootBlind = "reboot-blind";
    // --- lease
    /// The trial starts without a lease.
    NoLease = "no-lease";
    /// The lease is never renewed.
    LeaseNotRenewed = "lease-not-renewed";
    /// Renewals may go on for ever.
    LeaseWithoutCap = "lease-without-cap";
    /// An arm whose answer was lost is taken for confirmed.
    ArmNotConfirmed = "arm-not-confirmed";
    /// The lease is cancelled before the commit, in a step of its own.
    DisarmBeforeCommit = "disarm-before-commit";
    /// The commit leaves the lease armed.
    CommitLeavesLease = "commit-leaves-lease";
    /// The target takes a step of an episode that has ended there.
    NoFence = "no-fence";
    // --- commit
    /// Commit keeps whatever was staged last instead of what was verified.
    CommitWhatIsStaged = "commit-what-is-staged";
    /// The commit is believed without reading it back.
    CommitNotReadBack = "commit-not-read-back";
    /// Controller and tripwire act without asking the window record.
    BothOwnersAct = "both-owners-act";
    // --- verification
    /// Neither what runs nor whether the host booted is compared in the window.
    IdentityNotChecked = "identity-not-checked";
    /// Grace begins with the call instead of with the activation.
    GraceFromCall = "grace-from-call";
    /// Monitor results from before the activation count.
    StaleResultsCount = "stale-results-count";
    /// The controller's own outage counts against the host.
    OutageCountsAsFailure = "outage-counts-as-failure";
    /// Crash loops and kills of the workload are not looked at.
    WorkloadNotWatched = "workload-not-watched";
    /// An empty list of endpoints is healthy.
    EmptyIsHealthy = "empty-is-healthy";
    /// The window passes on its score alone, whatever its end looks like.
    TailNotChecked = "tail-not-checked";
    /// The window passes with too few samples.
    FewSamplesPass = "few-samples-pass";
    /// Every window is kept.
    AlwaysPass = "always-pass";
    // --- before the trial
    /// Preflight is not repeated right before the trial.
    PreflightNotRepeated = "preflight-not-repeated";
    /// A host that somebody else changed is taken for known-good.
    DriftIgnored = "drift-ignored";
    /// The unit is restarted although work is in flight.
    WorkInFlightKilled = "work-in-flight-killed";
    /// A trial starts although the tripwire is dead.
    TripwireNotNeeded = "tripwire-not-needed";
    // --- policy
    /// Bounds are not enforced.
    BoundsOff = "bounds-off";
    /// A proposal may change several settings.
    ManyChanges = "many-changes";
    /// Settings of a higher tier are tried without a person.
    TierIgnored = "tier-ignored";
    /// An approval fits any candidate.
    ApprovalNotBound = "approval-not-bound";
    /// Old data is as good as new.
    StaleDataIgnored = "stale-data-ignored";
    /// The daily limit is not checked.
    NoDailyLimit = "no-daily-limit";
    /// The daily limit is counted on the wall clock.
    LimitsByWallClock = "limits-by-wall-clock";
    /// The circuit breaker is not looked at.
    BreakerIgnored = "breaker-ignored";
    /// The level of autonomy is not looked at.
    LevelIgnored = "level-ignored";
    /// A pause is not looked at.
    PauseIgnored = "pause-ignored";
    /// The end of an episode may begin the next at once.
    NoCoolDown = "no-cool-down";
    // --- restarts
    /// A restarted controller forgets the episode it was in.
    OpenEpisodeForgotten = "open-episode-forgotten";
    /// Steps are taken before they are written down.
    ActBeforeIntent = "act-before-intent";
    // --- afterwards
    /// Nobody looks after the commit.
    ProbationDropped = "probation-dropped";
    /// A restart fires a retrospective again.
    RetrospectiveTwice = "retrospective-twice";
    /// A restart loses the retrospectives that are due.
    RetrospectiveLost = "retrospective-lost";
    /// Late harm is written down and nothing is done.
    LateHarmKept = "late-harm-kept";
    /// No effect counts as success.
    NeutralIsSuccess = "neutral-is-success";
    // --- tripwire
    /// The tripwire fires at the first bad look.
    NoDebounce = "no-debounce";
    /// The tripwire knows no grace.
    TripwireNoGrace = "tripwire-no-grace";
    /// A window record that cannot be read counts as closed.
    UnreadableIsClosed = "unreadable-is-closed";
    /// A restarted tripwire forgets the rollback it was in.
    TripwireForgets = "tripwire-forgets";
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether the design is as it should be. The simulator alone makes one that is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sound(Option<Flaw>);

impl Sound {
    pub const YES: Sound = Sound(None);

    /// A design with one mistake in it, for the simulator.
    pub fn but_for(flaw: Flaw) -> Sound {
        Sound(Some(flaw))
    }

    /// Whether this mistake is switched on.
    pub fn has(self, flaw: Flaw) -> bool {
        self.0 == Some(flaw)
    }
}
